import type { Test } from 'tap'
import { recordEvent } from '../../lib/core/events/record.ts'
import { createWebhooks, type Webhooks } from '../../lib/core/webhooks/tell.ts'
import type { EventName } from '../../lib/model/event.ts'
import type { Leased } from '../../lib/queue/lease.ts'
import { listWebhookAttempts, listWebhookDeliveries } from '../../lib/store/webhook-deliveries.ts'
import { type ApiApp, type ApiSettings, startApi } from './api-app.ts'
import { claim as claimDue } from './claim.ts'

/** The API, and the telling of webhooks without the queue's runner: a test says when. */
export interface WebhookApp extends ApiApp {
  readonly webhooks: Webhooks
  /** What is due now, leased. */
  claim(): Promise<Leased[]>
  /** Makes every attempt that is due now, once. */
  tellDue(): Promise<void>
  /** Makes an inbox with this webhook; gives its id and the secret. */
  inbox(url: string | null): Promise<{ id: string; podId: string; webhookSecret: string }>
  /** Records an event in an inbox; gives its id. */
  record(inboxId: string, type?: EventName, messageId?: string): Promise<string>
  /** The log of an event, as the account sees it. */
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects, and fails when it is not there
  log(eventId: string): Promise<any[]>
}

export async function startWebhookApp(t: Test, settings: ApiSettings = {}): Promise<WebhookApp> {
  const { toml = '', ...rest } = settings
  const allowed = 'allow_http = true\nallow_networks = ["127.0.0.0/8"]'
  const has = toml.includes('[webhook]')
  const api = await startApi(t, {
    ...rest,
    toml: has ? toml.replace('[webhook]', `[webhook]\n${allowed}`) : `[webhook]\n${allowed}\n${toml}`,
  })
  const { app } = api
  const webhooks = createWebhooks(app, Math.random)
  const claim = () => claimDue(app.queue, 'webhook', 1000)
  return {
    ...api,
    webhooks,
    claim,
    async tellDue() {
      await Promise.all((await claim()).map(webhooks.tell))
    },
    async inbox(url) {
      const { status, body } = await api.api.post('/v1/inboxes', { webhookUrl: url })
      if (status !== 201) throw new Error(JSON.stringify(body))
      return body
    },
    async record(inboxId, type = 'message.received', messageId) {
      const { body } = await api.api.get(`/v1/inboxes/${inboxId}`)
      const subject = { podId: body.podId, inboxId, threadId: null, messageId: messageId ?? null }
      await app.store.write(db => recordEvent(app, db, type, subject))
      const events = await app.store.read
        .selectFrom('event')
        .select('id')
        .orderBy('id', 'desc')
        .limit(1)
        .execute()
      return events[0]!.id
    },
    async log(eventId) {
      const rows = await listWebhookDeliveries(app.store.read, eventId)
      const attempts = await listWebhookAttempts(
        app.store.read,
        rows.map(row => row.id),
      )
      return rows.map(row => ({ ...row, log: attempts.filter(one => one.webhookDeliveryId === row.id) }))
    },
  }
}
