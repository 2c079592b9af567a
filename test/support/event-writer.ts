import type { App } from '../../lib/core/app/app.ts'
import { recordEvent } from '../../lib/core/events/record.ts'
import type { EventName } from '../../lib/model/event.ts'

/** Of which inbox an event is; without one, of the account. */
export interface Subject {
  readonly id: string
  readonly podId: string
}

/** Records events of one inbox, `count` in one write; each bears its number, which goes up by one over all calls. */
export function createEventWriter(app: App) {
  let last = 0
  return {
    /** The number of the last event. */
    get last() {
      return last
    },
    write(inbox: Subject | undefined, type: EventName = 'inbox.suspended', count = 1, text = '') {
      return app.store.write(async db => {
        for (let i = 0; i < count; i++) {
          const subject = {
            podId: inbox?.podId ?? null,
            inboxId: inbox?.id ?? null,
            threadId: null,
            messageId: null,
          }
          last++
          await recordEvent(app, db, type, subject, { number: last, text })
        }
      })
    },
  }
}
