import Type from 'typebox'
import { limits } from '../base/limits.ts'
import { Id, Instant, nullableOneOf, nullableText, oneOf, shape } from './shape.ts'

export const Direction = oneOf(['inbound', 'outbound'])
export type Direction = Type.Static<typeof Direction>

const MessageStatus = oneOf(['pending', 'sent', 'received', 'failed'], {
  examples: ['received'],
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

const Attachment = shape({
  filename: Type.String({ examples: ['report.txt'] }),
  contentType: Type.String({ examples: ['text/plain'] }),
  sizeBytes: Type.Integer({ minimum: 0, examples: [18] }),
  url: Type.String({
    format: 'uri',
    description: 'A download URL that is good for one hour.',
    examples: [
      'https://mail.example.com/v1/attachments/019a8f1c-6b2e-7d40-9c51-3e0f7a2b4d18/0/report.txt?expires=1795257000000&signature=5d41402a',
    ],
  }),
})

export const Message = shape({
  id: Id,
  inboxId: Id,
  threadId: Id,
  direction: Direction,
  rfcMessageId: nullableText({
    description: 'The Message-ID header, with angle brackets.',
    examples: ['<b1c2@example.net>'],
  }),
  inReplyTo: nullableText(),
  references: Type.Array(Type.String(), { examples: [[]] }),
  fromAddr: Type.String({ examples: ['bob@example.net'] }),
  toAddr: Type.String({
    description: 'Inbound: the address of the inbox. Outbound: the primary recipient.',
    examples: ['agent@example.com'],
  }),
  to: Type.Array(Type.String(), {
    description: 'The addresses of To.',
    examples: [['agent@example.com']],
  }),
  headerTo: nullableText({
    description:
      'Inbound: whom the sender wrote to, comma-separated if several. When deliveryRole is cc, a reply goes to them and copies who wrote.',
    examples: ['agent@example.com'],
  }),
  deliveryRole: nullableOneOf(['to', 'cc'], {
    description:
      'Inbound: to when To names the inbox, cc when only Cc does, null when neither does (a blind copy, a list).',
    examples: ['to'],
  }),
  replyTo: nullableText({
    description: 'Where answers are wanted (Reply-To), comma-separated if several; null: at fromAddr.',
  }),
  cc: Type.Array(Type.String(), { examples: [[]] }),
  addressNames: Type.Unsafe<Record<string, string> | null>({
    type: ['object', 'null'],
    additionalProperties: { type: 'string' },
    description:
      'Inbound: the display names of From, To and Cc by lower-case address; null when there are none.',
    examples: [{ 'bob@example.net': 'Bob' }],
  }),
  bcc: Type.Array(Type.String(), { examples: [[]] }),
  subject: Type.String({ examples: ['Re: The fish'] }),
  bodyText: Type.String({ examples: ['Three euros.\n'] }),
  bodyHtml: Type.String({ examples: [''] }),
  bodyTruncated: Type.Optional(
    Type.Literal(true, {
      description:
        'Only in a list, of a message for which it has no room: its texts are cut, its HTML and long lists left out. The message itself (GET /v1/messages/{id}) has all.',
    }),
  ),
  attachments: Type.Array(Attachment),
  rawUrl: nullableText({
    format: 'uri',
    description: 'The original message; null when its bytes were not kept.',
    examples: ['https://mail.example.com/v1/messages/019a8f1c-6b2e-7d40-9c51-3e0f7a2b4d18/raw'],
  }),
  status: MessageStatus,
  category: Category,
  autoReplyable: Type.Boolean({
    description: 'Whether a person, or another agent, wrote it; never answer the rest automatically.',
    examples: [true],
  }),
  verdict: VerdictName,
  authentication: Authentication,
  replyText: nullableText({
    description:
      'Inbound: what the sender wrote anew, without quoted history and signature; of a message that is nothing but a quote, all of it. Null for outbound.',
    examples: ['Three euros.'],
  }),
  otp: nullableText({
    description:
      'Inbound: the one-time code that the message brings, without spaces and hyphens. Null in doubt.',
  }),
  links: Type.Array(shape({ url: Type.String(), text: Type.String() }), {
    maxItems: limits.links,
    examples: [[]],
    description: 'Inbound: the web links outside of quotes, each once, and what each stands under.',
  }),
  parseProblems: Type.Array(Type.String(), {
    examples: [[]],
    description:
      'Inbound: why the message was not read to its end, or only its header was; the original has all of it. Empty for nearly all.',
  }),
  createdAt: Instant,
})
export type Message = Type.Static<typeof Message>

export const Delivery = shape(
  {
    id: Id,
    recipient: Type.String({ examples: ['bob@example.net'] }),
    purpose: oneOf(['send', 'forward'], {
      examples: ['send'],
      description: 'forward: a copy of an inbound message to the address that forwardTo of the inbox names.',
    }),
    state: oneOf(['queued', 'deferred', 'delivered', 'failed', 'held', 'cancelled'], {
      description:
        'deferred: tried again at nextAttemptAt. held: the inbox is suspended; it goes on when that ends, with all the time that a new one has.',
      examples: ['delivered'],
    }),
    captured: Type.Boolean({
      description:
        'True when the message was kept on this machine instead of sent (delivery.mode = "capture").',
      examples: [false],
    }),
    attempts: Type.Integer({ minimum: 0, examples: [1] }),
    replyCode: Type.Unsafe<number | null>({ type: ['integer', 'null'], examples: [250] }),
    replyEnhanced: nullableText({ examples: ['2.0.0'] }),
    replyText: nullableText({
      description: 'What the other side said last, or what happened in plain words.',
      examples: ['Ok: queued as 4F1B2'],
    }),
    remoteHost: nullableText({ examples: ['mx.example.net'] }),
    nextAttemptAt: nullableText({ format: 'date-time' }),
    createdAt: Instant,
    updatedAt: Instant,
  },
  { description: 'One message on its way to one recipient.' },
)
export type Delivery = Type.Static<typeof Delivery>
