import type { WebhookOutcome } from '../courier/webhook.ts'
import { webhookSignatureHeaders } from '../courier/webhook-signature.ts'
import type { Db } from '../store/dialect.ts'
import type { EventRow, WebhookDeliveryRow } from '../store/tables.ts'
import {
  insertWebhookAttempt,
  updateWebhookDelivery,
  type Webhook,
  type WebhookProgress,
} from '../store/webhook-deliveries.ts'
import type { App } from './app.ts'
import { eventBody } from './event-body.ts'

/** Tells one event to one webhook, once. */
export async function callWebhook(
  app: App,
  { url, secret }: Webhook,
  event: EventRow,
  attempt: number,
  signal?: AbortSignal,
): Promise<WebhookOutcome> {
  const body = Buffer.from(await eventBody(app, event, attempt))
  const headers = webhookSignatureHeaders({ id: event.id, at: app.clock.now(), secret, body })
  return app.webhookCourier.call({ url, body, headers, signal })
}

/** Writes down how a call ended, and how it goes on. */
export async function recordWebhookCall(
  app: App,
  db: Db,
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
