import Type from 'typebox'
import { webhookUrlLength } from '../base/lengths.ts'
import { idOf, instantOf, named, nullableText, oneOf } from './shape.ts'

const secret = {
  description:
    'What calls are signed with: whsec_ and 32 bytes in base64. Only in the answer that made it; keep it.',
}

export const WebhookSecret = named(
  'WebhookSecret',
  'A new secret; the former one is worth nothing any more, so give this one to the receiver at once.',
  { webhookSecret: Type.String(secret) },
)
export type WebhookSecret = Type.Static<typeof WebhookSecret>

export const WebhookTest = named('WebhookTest', 'The webhook took the call.', {
  ok: Type.Literal(true, {
    description: 'Always true; a webhook that did not take it is `webhook_failed`.',
  }),
  message: Type.String({ description: 'What the webhook answered, in words for people.' }),
})
export type WebhookTest = Type.Static<typeof WebhookTest>

export const AccountWebhook = named(
  'AccountWebhook',
  'The webhook that is called for what happens where no inbox has one of its own; there may be none.',
  {
    url: nullableText({ description: 'The address that is called; null: there is no webhook.' }),
    secret: Type.Optional(Type.String(secret)),
  },
)
export type AccountWebhook = Type.Static<typeof AccountWebhook>

export const AccountWebhookChange = named('AccountWebhookChange', 'The address that is to be called.', {
  url: Type.String({
    minLength: 1,
    examples: ['https://agent.example.net/hook'],
    description: `An https address that is reachable from the public Internet, of at most ${webhookUrlLength} characters.`,
  }),
})
export type AccountWebhookChange = Type.Static<typeof AccountWebhookChange>

const status = Type.Unsafe<number | null>({
  type: ['integer', 'null'],
  description: 'What the webhook answered; null when it gave no answer.',
})
const error = nullableText({ description: 'What went wrong; null when nothing did.' })

export const WebhookDelivery = named(
  'WebhookDelivery',
  'The telling of an event to a webhook: every call, what came of it, and when it is called again.',
  {
    id: idOf('Names the delivery; a redelivery gives it as `deliveryId`.'),
    inboxId: nullableText({ description: "Whose webhook it is; null: the account's." }),
    url: Type.String({ description: 'The address that was called last.' }),
    state: oneOf(['queued', 'deferred', 'delivered', 'failed', 'cancelled'], {
      title: 'WebhookDeliveryState',
      description:
        'queued: not called yet. delivered: the webhook took it. deferred: tried again at nextAttemptAt. failed: no more attempts. cancelled: there is no webhook any more, a stream took the event, or it was asked for again.',
    }),
    attempts: Type.Integer({ minimum: 0, description: 'How often the webhook was called for this event.' }),
    status,
    error,
    nextAttemptAt: nullableText({
      format: 'date-time',
      description: 'When it is called again; null: it is not.',
    }),
    createdAt: instantOf('When it was to be told first.'),
    updatedAt: instantOf('When it was last tried or its state changed.'),
    log: Type.Array(
      named('WebhookCall', 'One call of a webhook.', {
        url: Type.String({ description: 'The address that was called, as it was then.' }),
        status,
        answer: nullableText({ description: 'The beginning of what the webhook answered.' }),
        error,
        durationMs: Type.Integer({
          minimum: 0,
          description: 'How long the call took until its answer or its end.',
        }),
        createdAt: instantOf('When the call was made.'),
      }),
      { description: 'Every call with what came of it, oldest first.' },
    ),
  },
)
export type WebhookDelivery = Type.Static<typeof WebhookDelivery>

export const Redelivery = named('Redelivery', 'The event is told again.', {
  ok: Type.Literal(true, { description: 'Always true; a refusal has another status.' }),
  deliveryId: idOf('The delivery that tells it, as `GET /v1/events/{id}/deliveries` lists it.'),
})
export type Redelivery = Type.Static<typeof Redelivery>
