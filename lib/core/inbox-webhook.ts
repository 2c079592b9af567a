import { Problem } from '../base/problem.ts'
import { newWebhookSecret } from '../courier/webhook-signature.ts'
import type { WebhookSecret } from '../model/webhook.ts'
import { updateInbox } from '../store/inboxes.ts'
import type { App } from './app.ts'
import type { Caller } from './caller.ts'
import { getInboxRow } from './inboxes.ts'

/** The former secret is worth nothing from the next call on. @throws Problem `not_found`, `no_webhook_url` */
export async function rotateInboxSecret(app: App, caller: Caller, id: string): Promise<WebhookSecret> {
  return app.store.write(async db => {
    const row = await getInboxRow(db, caller, id)
    if (row.webhookUrl === null) throw new Problem('no_webhook_url')
    const webhookSecret = newWebhookSecret()
    await updateInbox(db, row.id, { webhookSecret })
    return { webhookSecret }
  })
}
