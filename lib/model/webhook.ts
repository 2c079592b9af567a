import Type from 'typebox'
import { limits } from '../base/limits.ts'
import { Id, Instant, nullableText, oneOf, shape } from './shape.ts'

const secret = {
  description:
    'What calls are signed with: whsec_ and 32 bytes in base64. Only in the answer that made it; keep it.',
}

export const WebhookSecret = shape(
  { webhookSecret: Type.String(secret) },
  { description: 'A new secret. The former one is worth nothing any more.' },
)
export type WebhookSecret = Type.Static<typeof WebhookSecret>

export const WebhookTest = shape({
  ok: Type.Literal(true),
  message: Type.String({ description: 'What the webhook answered.' }),
})
export type WebhookTest = Type.Static<typeof WebhookTest>

export const AccountWebhook = shape(
  {
    url: nullableText({ description: 'null: there is none.' }),
    secret: Type.Optional(Type.String(secret)),
  },
  { description: 'The webhook that is called for what happens where no inbox has one of its own.' },
)
export type AccountWebhook = Type.Static<typeof AccountWebhook>

export const AccountWebhookChange = shape({
  url: Type.String({
    minLength: 1,
    examples: ['https://agent.example.net/hook'],
    description: `An https address that is reachable from the public Internet, of at most ${limits.webhookUrlLength} characters.`,
  }),
})
export type AccountWebhookChange = Type.Static<typeof AccountWebhookChange>

const status = Type.Unsafe<number | null>({
  type: ['integer', 'null'],
  description: 'What the webhook answered; null when it gave no answer.',
})
const error = nullableText({ description: 'What went wrong; null when nothing did.' })

export const WebhookDelivery = shape(
  {
    id: Id,
    inboxId: nullableText({ description: "Whose webhook it is; null: the account's." }),
    url: Type.String({ description: 'As it was at the last attempt.' }),
    state: oneOf(['queued', 'deferred', 'delivered', 'failed', 'cancelled'], {
      description:
        'deferred: tried again at nextAttemptAt. failed: no more attempts. cancelled: there is no webhook any more, a stream took the event, or it was asked for again.',
    }),
    attempts: Type.Integer({ minimum: 0 }),
    status,
    error,
    nextAttemptAt: nullableText({ format: 'date-time' }),
    createdAt: Instant,
    updatedAt: Instant,
    log: Type.Array(
      shape({
        url: Type.String(),
        status,
        answer: nullableText({ description: 'The beginning of what the webhook answered.' }),
        error,
        durationMs: Type.Integer({ minimum: 0 }),
        createdAt: Instant,
      }),
      { description: 'Every attempt, oldest first.' },
    ),
  },
  { description: 'The telling of an event to a webhook.' },
)
export type WebhookDelivery = Type.Static<typeof WebhookDelivery>

export const Redelivery = shape({
  ok: Type.Literal(true),
  deliveryId: Id,
})
export type Redelivery = Type.Static<typeof Redelivery>
