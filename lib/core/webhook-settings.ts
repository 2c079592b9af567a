import { Problem } from '../base/problem.ts'
import { newWebhookSecret } from '../courier/webhook-signature.ts'
import { webhookUrlFault } from '../courier/webhook-url.ts'
import type { AccountRow } from '../store/tables.ts'
import type { App } from './app.ts'
import { type Caller, requireAccess } from './caller.ts'

/** The columns of a webhook, in the row of an inbox or of the account. */
type WebhookColumns = Pick<AccountRow, 'webhookUrl' | 'webhookSecret'>

/**
 * The URL of a webhook as a request has it: null takes it away, as does an empty text; undefined leaves it as it is.
 * @throws Problem `forbidden` to whoever names it without an account-wide key; `invalid_webhook_url`
 */
export function readWebhookUrl(
  app: App,
  caller: Caller,
  text: string | null | undefined,
): string | null | undefined {
  if (text === undefined) return undefined
  requireAccess(caller, 'account')
  return text === null || text === '' ? null : requireWebhookUrl(app, text)
}

/** @throws Problem `invalid_webhook_url`, with what is wrong with it and what to do about it */
export function requireWebhookUrl(app: App, text: string): string {
  const fault = webhookUrlFault(text, { allowHttp: app.config.webhook.allow_http, guard: app.webhookGuard })
  if (fault === undefined) return text
  throw new Problem('invalid_webhook_url', `${fault.charAt(0).toUpperCase()}${fault.slice(1)}.`)
}

/**
 * What is to be set. The secret is made with the first URL and stays, whatever URL there is later: a receiver that knows
 * it can be moved, or taken away and set again.
 */
export function webhookChange(
  row: Pick<AccountRow, 'webhookSecret'>,
  url: string | null | undefined,
): Partial<WebhookColumns> {
  if (url === undefined) return {}
  if (url === null || row.webhookSecret !== null) return { webhookUrl: url }
  return { webhookUrl: url, webhookSecret: newWebhookSecret() }
}

/** The secret in the answer to the request that made it. */
export function madeSecret({ webhookSecret }: Partial<WebhookColumns>): { webhookSecret?: string } {
  return typeof webhookSecret === 'string' ? { webhookSecret } : {}
}
