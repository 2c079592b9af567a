import { isoAfter } from '../../base/time.ts'
import type { EventName } from '../../model/event.ts'
import type { Work } from '../../queue/queue.ts'
import type { WriteDb } from '../../store/dialect/dialect.ts'
import { notice } from '../../store/dialect/notices.ts'
import { leaveEvent } from '../../store/events.ts'
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
  const endpoint = await findEndpoint(db, subject.inboxId)
  recordEvents(app, db, [{ type, subject, payload, endpoint }])
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
export function recordEvents(app: App, db: WriteDb, about: readonly NewEvent[]): void {
  for (const { type, subject, payload = {}, endpoint } of about) {
    const event = makeEvent(app, type, subject, payload)
    const delivery = endpoint && webhookDeliveryRow(app, event.id, endpoint)
    const webhook = delivery && { delivery, entry: app.queue.entryOf(callOf(app, delivery)) }
    leaveEvent(db, event, webhook)
    notice(db, 'event')
    if (webhook) notice(db, 'queue', 'webhook')
  }
}

function makeEvent(
  app: App,
  type: EventName,
  subject: EventSubject,
  payload: Readonly<Record<string, unknown>>,
): EventRow {
  return {
    id: app.ids.next(),
    type,
    podId: subject.podId,
    inboxId: subject.inboxId,
    threadId: subject.threadId,
    messageId: subject.messageId,
    payload: JSON.stringify(payload),
    createdAt: app.clock.now().toISOString(),
  }
}

/**
 * Writes an event that is told to this webhook at once, and by no queue.
 * @returns the row that is to say how it went
 */
export function writeCall(
  app: App,
  db: WriteDb,
  type: EventName,
  subject: EventSubject,
  endpoint: Endpoint,
): WebhookDeliveryRow {
  const event = makeEvent(app, type, subject, {})
  const delivery = webhookDeliveryRow(app, event.id, endpoint)
  leaveEvent(db, event, { delivery })
  notice(db, 'event')
  return delivery
}

/** Puts an event that has its place to be told to a webhook; gives the id of the row that says how it went. */
export async function queueWebhook(
  app: App,
  db: WriteDb,
  eventId: string,
  endpoint: Endpoint,
): Promise<string> {
  const row = webhookDeliveryRow(app, eventId, endpoint)
  await insertWebhookDelivery(db, row)
  await app.queue.put(db, [callOf(app, row)])
  return row.id
}

function callOf(app: App, { id, url }: WebhookDeliveryRow): Work {
  // How often it is tried says when it is over, not a time.
  const expiresAt = isoAfter(app.clock.now(), 365 * 86_400_000)
  return { kind: 'webhook', subjectId: id, destination: url, expiresAt }
}

function webhookDeliveryRow(app: App, eventId: string, { inboxId, url }: Endpoint): WebhookDeliveryRow {
  const createdAt = app.clock.now().toISOString()
  return {
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
}
