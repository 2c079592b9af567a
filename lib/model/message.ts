import Type from 'typebox'
import { limits } from '../base/limits.ts'
import { Id, Instant, nullableOneOf, nullableText, oneOf, shape } from './shape.ts'

export const Direction = oneOf(['inbound', 'outbound'])
export type Direction = Type.Static<typeof Direction>

export const MessageStatus = oneOf(['pending', 'sent', 'received', 'failed'], {
  description:
    'Outbound: pending until every recipient has come to an end, then sent if all were accepted by their server, failed if any failed for good. Inbound: received.',
})

export const Category = oneOf(['personal', 'automated', 'marketing', 'bounce', 'spam', 'malicious'])
export type Category = Type.Static<typeof Category>

export const VerdictName = oneOf(['clean', 'spam', 'malicious'])
export type VerdictName = Type.Static<typeof VerdictName>

const check = oneOf(['pass', 'fail', 'softfail', 'neutral', 'none', 'temperror', 'permerror'])

export const Authentication = shape(
  { spf: check, dkim: check, dmarc: check },
  {
    description: 'What SPF, DKIM and DMARC say of an inbound message; none where there was nothing to check.',
  },
)
export type Authentication = Type.Static<typeof Authentication>

export const Attachment = shape({
  filename: Type.String(),
  contentType: Type.String(),
  sizeBytes: Type.Integer({ minimum: 0 }),
  url: Type.String({ format: 'uri', description: 'A download URL that is good for one hour.' }),
})
export type Attachment = Type.Static<typeof Attachment>

export const Message = shape({
  id: Id,
  inboxId: Id,
  threadId: Id,
  direction: Direction,
  rfcMessageId: nullableText({ description: 'The Message-ID header, with angle brackets.' }),
  inReplyTo: nullableText(),
  references: Type.Array(Type.String()),
  fromAddr: Type.String(),
  toAddr: Type.String({ description: 'Inbound: the address of the inbox. Outbound: the primary recipient.' }),
  headerTo: nullableText({ description: 'Inbound: whom the sender wrote to, comma-separated if several.' }),
  deliveryRole: nullableOneOf(['to', 'cc'], {
    description: 'Inbound: whether the inbox was a main recipient or was copied.',
  }),
  replyTo: nullableText(),
  cc: Type.Array(Type.String()),
  addressNames: Type.Unsafe<Record<string, string> | null>({
    type: ['object', 'null'],
    additionalProperties: { type: 'string' },
    description:
      'Inbound: the display names of From, To and Cc by lower-case address; null when there are none.',
  }),
  bcc: Type.Array(Type.String()),
  subject: Type.String(),
  bodyText: Type.String(),
  bodyHtml: Type.String(),
  attachments: Type.Array(Attachment),
  rawUrl: nullableText({
    format: 'uri',
    description: 'The original message; null when its bytes were not kept.',
  }),
  status: MessageStatus,
  category: Category,
  autoReplyable: Type.Boolean({
    description: 'Whether a person, or another agent, wrote it; never answer the rest automatically.',
  }),
  verdict: VerdictName,
  authentication: Authentication,
  replyText: nullableText({
    description:
      'Inbound: what the sender wrote anew, without quoted history and signature; of a message that is nothing but a quote, all of it. Null for outbound.',
  }),
  otp: nullableText({
    description:
      'Inbound: the one-time code that the message brings, without spaces and hyphens. Null in doubt.',
  }),
  links: Type.Array(shape({ url: Type.String(), text: Type.String() }), {
    maxItems: limits.links,
    description: 'Inbound: the web links outside of quotes, each once, and what each stands under.',
  }),
  createdAt: Instant,
})
export type Message = Type.Static<typeof Message>

export const Delivery = shape(
  {
    id: Id,
    recipient: Type.String(),
    purpose: oneOf(['send', 'forward'], {
      description: 'forward: a copy of an inbound message to the address that forwardTo of the inbox names.',
    }),
    state: oneOf(['queued', 'deferred', 'delivered', 'failed', 'held', 'cancelled']),
    captured: Type.Boolean({
      description:
        'True when the message was kept on this machine instead of sent (delivery.mode = "capture").',
    }),
    attempts: Type.Integer({ minimum: 0 }),
    replyCode: Type.Unsafe<number | null>({ type: ['integer', 'null'] }),
    replyEnhanced: nullableText(),
    replyText: nullableText({
      description: 'What the other side said last, or what happened in plain words.',
    }),
    remoteHost: nullableText(),
    nextAttemptAt: nullableText({ format: 'date-time' }),
    createdAt: Instant,
    updatedAt: Instant,
  },
  { description: 'One message on its way to one recipient.' },
)
export type Delivery = Type.Static<typeof Delivery>
