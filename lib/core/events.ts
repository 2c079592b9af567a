import type { EventName } from '../model/event.ts'
import type { Db } from '../store/dialect.ts'
import { insertEvent } from '../store/events.ts'
import type { App } from './app.ts'

/** What an event is about. */
export interface EventSubject {
  readonly podId: string | null
  readonly inboxId: string | null
  readonly threadId: string | null
  readonly messageId: string | null
}

/** Writes an event as part of the write of what it tells. Its id is made here, so that ids follow the order of commits. */
export async function recordEvent(
  app: App,
  db: Db,
  type: EventName,
  subject: EventSubject,
  payload: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  await insertEvent(db, {
    id: app.ids.next(),
    type,
    ...subject,
    payload: JSON.stringify(payload),
    createdAt: app.clock.now().toISOString(),
  })
}
