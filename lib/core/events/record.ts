import { isoAfter } from '../../base/clock.ts'
import { idAfter } from '../../base/ids.ts'
import type { EventName } from '../../model/event.ts'
import type { WriteDb } from '../../store/dialect/dialect.ts'
import { notice } from '../../store/dialect/notices.ts'
import { findLastEventIdIn, insertEvent, insertEvents, noteLastEventId } from '../../store/events.ts'
import type { EventRow, WebhookDeliveryRow } from '../../store/tables.ts'
import { type Endpoint, findEndpoint, insertWebhookDelivery } from '../../store/webhook-deliveries.ts'
import type { App } from '../app/app.ts'

/** What an event is about. */
export interface EventSubject {
  readonly podId: string | null
  readonly inboxId: string | null
  readonly threadId: string | null
  readonly messageId: string | null
}

/**
 * Writes an event, and the work for its webhook, in the write of what happened. The order of ids is the order of the
 * writes, whatever the clocks say: who has read up to one id has missed nothing before it.
 * @returns the webhook that will be told, if there is one
 */
export async function recordEvent(
  app: App,
  db: WriteDb,
  type: EventName,
  subject: EventSubject,
  payload: Readonly<Record<string, unknown>> = {},
): Promise<Endpoint | undefined> {
  const event = await writeEvent(app, db, type, subject, payload)
  const endpoint = await findEndpoint(db, subject.inboxId)
  if (endpoint) await queueWebhook(app, db, event.id, endpoint)
  return endpoint
}

/** An event that is to be written. */
export interface NewEvent {
  readonly type: EventName
  readonly subject: EventSubject
  readonly payload?: Readonly<Record<string, unknown>>
  /** The webhook that is told of what happens there. */
  readonly endpoint: Endpoint | undefined
}

/** The same for several, in their order. */
export async function recordEvents(app: App, db: WriteDb, about: readonly NewEvent[]): Promise<void> {
  const events: EventRow[] = []
  for (const { type, subject, payload = {} } of about)
    events.push(await makeEvent(app, db, type, subject, payload))
  await insertEvents(db, events)
  if (events.length > 0) notice(db, 'event')
  for (const [index, { endpoint }] of about.entries()) {
    if (endpoint) await queueWebhook(app, db, events[index]!.id, endpoint)
  }
}

/** Writes an event that the queue tells to no webhook. */
export async function writeEvent(
  app: App,
  db: WriteDb,
  type: EventName,
  subject: EventSubject,
  payload: Readonly<Record<string, unknown>> = {},
): Promise<EventRow> {
  const event = await makeEvent(app, db, type, subject, payload)
  await insertEvent(db, event)
  notice(db, 'event')
  return event
}

async function makeEvent(
  app: App,
  db: WriteDb,
  type: EventName,
  subject: EventSubject,
  payload: Readonly<Record<string, unknown>>,
): Promise<EventRow> {
  return {
    id: await nextEventId(app, db),
    type,
    podId: subject.podId,
    inboxId: subject.inboxId,
    threadId: subject.threadId,
    messageId: subject.messageId,
    payload: JSON.stringify(payload),
    createdAt: app.clock.now().toISOString(),
  }
}

/** mailboxctl writes events too, by a clock and a count of its own. */
async function nextEventId(app: App, db: WriteDb): Promise<string> {
  const made = app.ids.next()
  const last = await findLastEventIdIn(db)
  const id = last === undefined || made > last ? made : idAfter(last)
  noteLastEventId(db, id)
  return id
}

/** Puts an event to be told to a webhook; gives the id of the row that says how it went. */
export async function queueWebhook(
  app: App,
  db: WriteDb,
  eventId: string,
  endpoint: Endpoint,
): Promise<string> {
  const { id } = await writeWebhookDelivery(app, db, eventId, endpoint)
  // How often it is tried says when it is over, not a time.
  const expiresAt = isoAfter(app.clock.now(), 365 * 86_400_000)
  await app.queue.put(db, [{ kind: 'webhook', subjectId: id, destination: endpoint.url, expiresAt }])
  return id
}

/** Writes the row that says how the telling goes. */
export async function writeWebhookDelivery(
  app: App,
  db: WriteDb,
  eventId: string,
  { inboxId, url }: Endpoint,
): Promise<WebhookDeliveryRow> {
  const createdAt = app.clock.now().toISOString()
  const row: WebhookDeliveryRow = {
    id: app.ids.next(),
    eventId,
    inboxId,
    state: 'queued',
    attempts: 0,
    url,
    status: null,
    error: null,
    nextAttemptAt: createdAt,
    createdAt,
    updatedAt: createdAt,
  }
  await insertWebhookDelivery(db, row)
  return row
}
