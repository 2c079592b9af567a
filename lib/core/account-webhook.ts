import { Problem } from '../base/problem.ts'
import { newWebhookSecret } from '../courier/webhook-signature.ts'
import type { AccountWebhook } from '../model/webhook.ts'
import { findAccount, updateAccount } from '../store/account.ts'
import type { Db } from '../store/dialect.ts'
import type { AccountRow } from '../store/tables.ts'
import type { App } from './app.ts'
import { requireWebhookUrl, webhookChange } from './webhook-settings.ts'

async function getAccountRow(db: Db): Promise<AccountRow> {
  const row = await findAccount(db)
  if (!row) throw new Error('there is no account row')
  return row
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
    const { webhookSecret } = { webhookSecret: row.webhookSecret, ...webhookChange(row, url) }
    await updateAccount(db, { webhookUrl: url, webhookSecret })
    return { url, ...(webhookSecret === null || row.webhookSecret !== null ? {} : { secret: webhookSecret }) }
  })
}

/** Forgets the URL and the secret; what is not told by now is not told any more. */
export async function deleteAccountWebhook(app: App): Promise<void> {
  await app.store.write(db => updateAccount(db, { webhookUrl: null, webhookSecret: null }))
}

/** The former secret is worth nothing from the next call on. @throws Problem `no_webhook_url` */
export async function rotateAccountSecret(app: App): Promise<AccountWebhook> {
  return app.store.write(async db => {
    const { webhookUrl } = await getAccountRow(db)
    if (webhookUrl === null) throw new Problem('no_webhook_url')
    const secret = newWebhookSecret()
    await updateAccount(db, { webhookUrl, webhookSecret: secret })
    return { url: webhookUrl, secret }
  })
}
