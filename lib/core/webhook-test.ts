import { Problem } from '../base/problem.ts'
import type { WebhookTest } from '../model/webhook.ts'
import { findWebhook } from '../store/webhook-deliveries.ts'
import type { App } from './app.ts'
import type { Caller } from './caller.ts'
import { type EventSubject, writeEvent, writeWebhookDelivery } from './events.ts'
import { getInboxRow } from './inboxes.ts'
import { callWebhook, recordWebhookCall } from './webhook-call.ts'

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
  const { event, delivery } = await app.store.write(async db => {
    const written = await writeEvent(app, db, 'webhook.test', subject)
    return {
      event: written,
      delivery: await writeWebhookDelivery(app, db, written.id, { inboxId, url: webhook.url }),
    }
  })
  const outcome = await callWebhook(app, webhook, event, 1, signal)
  const state = outcome.result === 'delivered' ? 'delivered' : 'failed'
  await app.store.write(db =>
    recordWebhookCall(app, db, delivery, webhook.url, outcome, { state, nextAttemptAt: null }),
  )
  signal?.throwIfAborted()
  if (state === 'failed')
    throw new Problem('webhook_failed', `The webhook did not take the call: ${outcome.error}.`)
  return { ok: true, message: `The webhook answered ${outcome.status} in ${outcome.durationMs} ms.` }
}
