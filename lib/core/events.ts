import { isoAfter } from '../base/clock.ts'
import { idAfter } from '../base/ids.ts'
import type { EventName } from '../model/event.ts'
import type { Db } from '../store/dialect.ts'
import { findLastEventId, insertEvent } from '../store/events.ts'
import type { EventRow } from '../store/tables.ts'
import { type Endpoint, findEndpoint, insertWebhookDelivery } from '../store/webhook-deliveries.ts'
import type { App } from './app.ts'

/** What an event is about. */
export interface EventSubject {
  readonly podId: string | null
  readonly inboxId: string | null
  readonly threadId: string | null
  readonly messageId: string | null
}

/**
 * Writes an event as part of the write of what it tells, and what is to be done for its webhook. The order of ids is
 * that of the writes, whatever clocks say: who has read up to one id has missed nothing before it.
 * @returns the webhook that will be told, if there is one
 */
export async function recordEvent(
  app: App,
  db: Db,
  type: EventName,
  subject: EventSubject,
  payload: Readonly<Record<string, unknown>> = {},
): Promise<Endpoint | undefined> {
  const event: EventRow = {
    id: await nextEventId(app, db),
    type,
    podId: subject.podId,
    inboxId: subject.inboxId,
    threadId: subject.threadId,
    messageId: subject.messageId,
    payload: JSON.stringify(payload),
    createdAt: app.clock.now().toISOString(),
  }
  await insertEvent(db, event)
  const endpoint = await findEndpoint(db, subject.inboxId)
  if (endpoint) await queueWebhook(app, db, event.id, endpoint)
  app.bell.recorded()
  return endpoint
}

/** mailboxctl writes events too, by a clock and a count of its own. */
async function nextEventId(app: App, db: Db): Promise<string> {
  const id = app.ids.next()
  const last = await findLastEventId(db)
  return last === undefined || id > last ? id : idAfter(last)
}

/** Puts an event to be told to a webhook; gives the id of the row that says how it went. */
export async function queueWebhook(app: App, db: Db, eventId: string, endpoint: Endpoint): Promise<string> {
  const now = app.clock.now()
  const createdAt = now.toISOString()
  const id = app.ids.next()
  await insertWebhookDelivery(db, {
    id,
    eventId,
    inboxId: endpoint.inboxId,
    state: 'queued',
    attempts: 0,
    url: endpoint.url,
    status: null,
    error: null,
    nextAttemptAt: createdAt,
    createdAt,
    updatedAt: createdAt,
  })
  // How often it is tried says when it is over, not a time.
  const expiresAt = isoAfter(now, 365 * 86_400_000)
  await app.queue.put(db, [{ kind: 'webhook', subjectId: id, destination: endpoint.url, expiresAt }])
  return id
}
