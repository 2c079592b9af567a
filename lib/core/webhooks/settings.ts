import { type FoundFault, faultsOf, type Given, Problem } from '../../base/problem.ts'

import type { Sealed, SecretPlace } from '../../base/secrets.ts'
import { newWebhookSecret } from '../../courier/webhook/signature.ts'
import { webhookUrlFault } from '../../courier/webhook/url.ts'
import type { AccountWebhook, WebhookSecret } from '../../model/webhook.ts'
import { updateAccount } from '../../store/account.ts'
import type { WriteDb } from '../../store/dialect/dialect.ts'
import { updateInbox } from '../../store/inboxes.ts'
import type { AccountRow } from '../../store/tables.ts'
import type { App, Rows } from '../app/app.ts'
import { type Caller, requireAccess } from '../app/caller.ts'
import { getAccountRow, getInboxRow } from '../app/reach.ts'
import { sealInWrite, secretOf } from '../app/secrets.ts'

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

/** What is wrong with the URL of a webhook that is asked for, if one is. */
export function* webhookFaults({ webhookUrl: text }: Given, app: App): Generator<FoundFault> {
  if (typeof text !== 'string' || text === '') return
  yield* faultsOf('/webhookUrl', () => requireWebhookUrl(app, text))
}

/** @throws Problem `invalid_webhook_url`, with what is wrong with it and what to do about it */
function requireWebhookUrl(app: App, text: string): string {
  const fault = webhookUrlFault(text, { allowHttp: app.config.webhook.allow_http, guard: app.webhookGuard })
  if (fault === undefined) return text
  throw new Problem('invalid_webhook_url', `${fault.charAt(0).toUpperCase()}${fault.slice(1)}.`)
}

/**
 * What is to be set. The secret is made with the first URL and stays, whatever URL there is later: a receiver that knows
 * it can be moved, or taken away and set again.
 * @throws Problem as `sealInWrite`
 */
export async function webhookChange(
  app: App,
  db: WriteDb,
  place: SecretPlace,
  row: Pick<AccountRow, 'webhookSecret'>,
  url: string | null | undefined,
): Promise<WebhookChange> {
  if (url === undefined) return { columns: {} }
  if (url === null || row.webhookSecret !== null) return { columns: { webhookUrl: url } }
  const { sealed, secret } = await newSecret(app, db, place)
  return { columns: { webhookUrl: url, webhookSecret: sealed }, secret }
}

/** What is to be set, and the secret for the answer to the request that made it. */
export interface WebhookChange {
  readonly columns: Partial<WebhookColumns>
  readonly secret?: string
}

async function newSecret(
  app: App,
  db: WriteDb,
  place: SecretPlace,
): Promise<{ readonly secret: string; readonly sealed: Sealed }> {
  const secret = newWebhookSecret()
  return { secret, sealed: await sealInWrite(db, app.secrets, place, secret) }
}

/** The webhook that is called for what happens where no inbox has one of its own. */
export async function getAccountWebhook(app: App): Promise<AccountWebhook> {
  return { url: (await getAccountRow(app.store.read)).webhookUrl }
}

/** The secret is in the answer when this is the first URL. @throws Problem `invalid_webhook_url` */
export async function setAccountWebhook(app: App, text: string): Promise<AccountWebhook> {
  const url = requireWebhookUrl(app, text)
  return app.store.write(async db => {
    const row = await getAccountRow(db)
    const { columns, secret } = await webhookChange(app, db, secretOf.accountWebhook(row.id), row, url)
    await updateAccount(db, { webhookUrl: url, webhookSecret: row.webhookSecret, ...columns })
    return { url, ...(secret !== undefined && { secret }) }
  })
}

/** What is called for an inbox, or without one for the account. @throws Problem `not_found`, `no_webhook_url` */
export async function getWebhookUrl(
  { store }: Rows,
  caller: Caller,
  inbox: string | undefined,
): Promise<string> {
  const { webhookUrl } =
    inbox === undefined ? await getAccountRow(store.read) : await getInboxRow(store.read, caller, inbox)
  if (webhookUrl === null) throw new Problem('no_webhook_url')
  return webhookUrl
}

/** Forgets the URL and the secret; what is not told by now is not told any more. */
export async function deleteAccountWebhook(app: App): Promise<void> {
  await app.store.write(db => updateAccount(db, { webhookUrl: null, webhookSecret: null }))
}

/** The former secret is worth nothing from the next call on. @throws Problem `no_webhook_url` */
export async function rotateAccountSecret(app: App): Promise<AccountWebhook> {
  return app.store.write(async db => {
    const { id, webhookUrl } = await getAccountRow(db)
    if (webhookUrl === null) throw new Problem('no_webhook_url')
    const { secret, sealed } = await newSecret(app, db, secretOf.accountWebhook(id))
    await updateAccount(db, { webhookUrl, webhookSecret: sealed })
    return { url: webhookUrl, secret }
  })
}

/** The former secret is worth nothing from the next call on. @throws Problem `not_found`, `no_webhook_url` */
export async function rotateInboxSecret(app: App, caller: Caller, id: string): Promise<WebhookSecret> {
  return app.store.write(async db => {
    const row = await getInboxRow(db, caller, id)
    if (row.webhookUrl === null) throw new Problem('no_webhook_url')
    const { secret, sealed } = await newSecret(app, db, secretOf.inboxWebhook(row.id))
    await updateInbox(db, row.id, { webhookSecret: sealed })
    return { webhookSecret: secret }
  })
}
