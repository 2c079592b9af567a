import { testInboxWebhook } from '../core/webhooks/call.ts'
import {
  deleteAccountWebhook,
  getAccountWebhook,
  rotateAccountSecret,
  rotateInboxSecret,
  setAccountWebhook,
} from '../core/webhooks/settings.ts'
import { AccountWebhook, AccountWebhookChange, WebhookSecret, WebhookTest } from '../model/webhook.ts'
import { type Operation, operation } from './operation.ts'

const tag = 'Webhooks'
const path = '/v1/webhook'

export const webhookOperations: readonly Operation[] = [
  operation({
    id: 'rotateInboxWebhookSecret',
    method: 'post',
    path: '/v1/inboxes/{id}/webhook/rotate-secret',
    tag,
    summary:
      "Make a new secret for the inbox's webhook; the former one is worth nothing from the next call on.",
    description:
      'When the secret may be known to others. Give the receiver the new one at once: calls are signed with it from now on.',
    access: 'account',
    success: { status: 200, schema: WebhookSecret },
    problems: ['no_webhook_url'],
    handle: ({ app, caller, params }) => rotateInboxSecret(app, caller, params.id!),
  }),
  operation({
    id: 'testInboxWebhook',
    method: 'post',
    path: '/v1/inboxes/{id}/webhook/test',
    tag,
    summary: "Call the inbox's webhook with an event webhook.test, at once and once.",
    description: 'To see that the receiver is reached and takes the signature, before mail comes.',
    access: 'account',
    success: { status: 200, schema: WebhookTest },
    problems: ['no_webhook_url', 'webhook_failed'],
    handle: ({ app, caller, params, signal }) => testInboxWebhook(app, caller, params.id!, signal()),
  }),
  operation({
    id: 'getWebhook',
    method: 'get',
    path,
    tag,
    summary: "Show the account's webhook.",
    description: 'Inboxes with a `webhookUrl` of their own do not use it.',
    access: 'account',
    success: { status: 200, schema: AccountWebhook },
    problems: [],
    handle: ({ app }) => getAccountWebhook(app),
  }),
  operation({
    id: 'setWebhook',
    method: 'put',
    path,
    tag,
    summary: "Set the account's webhook. The secret is in the answer the first time.",
    description:
      'It is called for every event of inboxes that have no webhook of their own, and of domains. The secret stays when the address is changed.',
    access: 'account',
    body: AccountWebhookChange,
    success: { status: 200, schema: AccountWebhook },
    problems: ['invalid_webhook_url'],
    handle: ({ app, body }) => setAccountWebhook(app, body.url),
  }),
  operation({
    id: 'deleteWebhook',
    method: 'delete',
    path,
    tag,
    summary: "Take the account's webhook away, and its secret.",
    description: 'Events are kept all the same, and streams go on.',
    access: 'account',
    success: { status: 204 },
    problems: [],
    handle: ({ app }) => deleteAccountWebhook(app),
  }),
  operation({
    id: 'rotateWebhookSecret',
    method: 'post',
    path: `${path}/rotate-secret`,
    tag,
    summary:
      "Make a new secret for the account's webhook; the former one is worth nothing from the next call on.",
    description:
      'When the secret may be known to others. Give the receiver the new one at once: calls are signed with it from now on.',
    access: 'account',
    success: { status: 200, schema: AccountWebhook },
    problems: ['no_webhook_url'],
    handle: ({ app }) => rotateAccountSecret(app),
  }),
]
