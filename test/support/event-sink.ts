import type { EventSink } from '../../lib/core/app/stream.ts'

/** A connection that takes all that it is told, at once. */
export const takesAll: EventSink = {
  write: (_event, _body, sent) => sent?.(),
  enter: async () => ({ become() {}, leave() {} }),
  isFull: () => false,
  drained: () => Promise.resolve(),
  tick() {},
  end() {},
}
