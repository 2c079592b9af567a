import type { App } from '../../lib/core/app/app.ts'
import { operator } from '../../lib/core/app/caller.ts'
import { takesAll } from './event-sink.ts'

/** Resolves when all streams that are open now have looked at the clock once more. */
export function nextTick(app: App): Promise<void> {
  return new Promise(resolve => {
    const { close } = app.stream.open(operator, {
      ...takesAll,
      tick() {
        close()
        resolve()
      },
      end: () => resolve(),
    })
  })
}
