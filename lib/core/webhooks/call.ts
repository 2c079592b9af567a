import { Problem } from '../../base/problem.ts'
import type { WebhookOutcome } from '../../courier/webhook/courier.ts'
import { webhookSignatureHeaders } from '../../courier/webhook/signature.ts'
import type { WebhookTest } from '../../model/webhook.ts'
import type { WriteDb } from '../../store/dialect/dialect.ts'
import { holdsNothing } from '../../store/dialect/held.ts'
import { findEvent } from '../../store/events.ts'
import type { EventRow, WebhookDeliveryRow } from '../../store/tables.ts'
import {
  findWebhook,
  findWebhookDelivery,
  insertWebhookAttempt,
  updateWebhookDelivery,
  type Webhook,
  type WebhookProgress,
} from '../../store/webhook-deliveries.ts'
import type { App } from '../app/app.ts'
import type { Caller } from '../app/caller.ts'
import { getInboxRow } from '../app/reach.ts'
import { eventBody } from '../events/body.ts'
import { type EventSubject, writeCall } from '../events/record.ts'

/**
 * Tells one event to one webhook, once.
 * @param commit asked directly before the call; what it throws keeps it from being made
 */
export async function callWebhook(
  app: App,
  webhook: Webhook,
  event: EventRow,
  attempt: number,
  commit: () => void,
  signal?: AbortSignal,
): Promise<WebhookOutcome> {
  const body = Buffer.from(await eventBody(app, event, attempt))
  const secret = app.secrets.open(webhook.place, webhook.secret)
  const headers = webhookSignatureHeaders({ id: event.id, at: app.clock.now(), secret, body })
  commit()
  const outcome = await app.webhookCourier.call({ url: webhook.url, body, headers, signal })
  app.meter.count('webhook_calls_total', outcome.result)
  app.meter.observe('webhook_call_seconds', outcome.durationMs / 1000)
  return outcome
}

/** Writes down how a call ended, and how it goes on. */
export async function recordWebhookCall(
  app: App,
  db: WriteDb,
  delivery: WebhookDeliveryRow,
  url: string,
  outcome: WebhookOutcome,
  next: Pick<WebhookProgress, 'state' | 'nextAttemptAt'>,
): Promise<void> {
  const now = app.clock.now().toISOString()
  const status = outcome.status ?? null
  const error = outcome.error ?? null
  await insertWebhookAttempt(db, {
    id: app.ids.next(),
    webhookDeliveryId: delivery.id,
    url,
    status,
    answer: outcome.answer ?? null,
    error,
    durationMs: outcome.durationMs,
    createdAt: now,
  })
  const attempts = delivery.attempts + 1
  await updateWebhookDelivery(db, delivery.id, { ...next, attempts, url, status, error, updatedAt: now })
}

/**
 * Tries the inbox's own webhook.
 * @throws Problem `not_found`, `no_webhook_url`, `webhook_failed`; what `signal` is aborted with
 */
export async function testInboxWebhook(
  app: App,
  caller: Caller,
  id: string,
  signal?: AbortSignal,
): Promise<WebhookTest> {
  const inbox = await getInboxRow(app.store.read, caller, id)
  const subject = { podId: inbox.podId, inboxId: inbox.id, threadId: null, messageId: null }
  return testWebhook(app, subject, signal)
}

/** Tries the account's webhook. @throws Problem `no_webhook_url`, `webhook_failed` */
export function testAccountWebhook(app: App): Promise<WebhookTest> {
  return testWebhook(app, { podId: null, inboxId: null, threadId: null, messageId: null })
}

/** Calls it at once, and once: the event stands among the events, and how it went in its log. */
async function testWebhook(app: App, subject: EventSubject, signal?: AbortSignal): Promise<WebhookTest> {
  const { inboxId } = subject
  const webhook = await findWebhook(app.store.read, inboxId)
  if (!webhook) throw new Problem('no_webhook_url')
  const { read } = app.store
  const { id } = await app.store.writeHolding(holdsNothing, async db =>
    writeCall(app, db, 'webhook.test', subject, { inboxId, url: webhook.url }),
  )
  await app.store.placed()
  // The event has its place now, and so its id.
  const delivery = await findWebhookDelivery(read, id)
  const event = delivery && (await findEvent(read, delivery.eventId))
  if (!event) throw new Error('the event that was written is not there')
  const outcome = await callWebhook(app, webhook, event, 1, () => {}, signal)
  const state = outcome.result === 'delivered' ? 'delivered' : 'failed'
  await app.store.writeHolding(holdsNothing, db =>
    recordWebhookCall(app, db, delivery, webhook.url, outcome, { state, nextAttemptAt: null }),
  )
  signal?.throwIfAborted()
  if (state === 'failed')
    throw new Problem('webhook_failed', `The webhook did not take the call: ${outcome.error}.`)
  return { ok: true, message: `The webhook answered ${outcome.status} in ${outcome.durationMs} ms.` }
}
