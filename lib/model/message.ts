import Type from 'typebox'
import { categories } from '../base/ids.ts'
import { attachmentTextLength, linksShown } from '../base/lengths.ts'
import { replyClasses } from '../base/reply.ts'
import { idOf, instantOf, named, nullableOneOf, nullableText, oneOf } from './shape.ts'

/** Recipients that the header of a received message may give a reply to all. */
export const derivedRecipientsOfAll = 50
/** Characters of the text of an attachment that lists and events show. */
export const parsedTextLength = 4_000

export const Direction = oneOf(['inbound', 'outbound'], {
  title: 'MessageDirection',
  description: 'inbound: it came in. outbound: the inbox sent it.',
})
export type Direction = Type.Static<typeof Direction>

/** Whether the inbox was written to or copied. */
export const DeliveryRole = nullableOneOf(['to', 'cc'], {
  title: 'DeliveryRole',
  description:
    'Inbound: to when To names the inbox, cc when only Cc does: then a reply goes to whom it was written to, and copies who wrote. null when neither does (a blind copy, a list), and for outbound.',
  examples: ['to'],
})

const MessageStatus = oneOf(['pending', 'sent', 'received', 'failed'], {
  title: 'MessageStatus',
  examples: ['received'],
  description:
    'Outbound: pending until every recipient has come to an end, then sent if all were accepted by their server, failed if any failed for good. Inbound: received.',
})

export const Category = oneOf(categories, {
  title: 'MessageCategory',
  description:
    'personal: a person, or an agent, wrote it. automated: a program did, such as a receipt or a code. marketing: to many at once. bounce: a message of this inbox came back. spam, malicious: as the verdict.',
})
export type Category = Type.Static<typeof Category>

export const VerdictName = oneOf(['clean', 'spam', 'malicious'], {
  title: 'MessageVerdict',
  description:
    'clean: nothing speaks against it. spam: unwanted, or From is not proven where its domain wants that. malicious: a scanner found a virus; do not open what is attached.',
})
export type VerdictName = Type.Static<typeof VerdictName>

const check = (description: string) =>
  oneOf(['pass', 'fail', 'policy', 'softfail', 'neutral', 'none', 'temperror', 'permerror'], { description })

export const Authentication = named(
  'Authentication',
  'What SPF, DKIM and DMARC say of an inbound message; none where there was nothing to check.',
  {
    spf: check('Whether the server that sent it may send for the reverse-path (RFC 7208).'),
    dkim: check('Whether a signature of the domain in From is good (RFC 6376).'),
    dmarc: check(
      'Whether the address in From is proven (RFC 9989, which followed RFC 7489: by its tree walk, without a list of public suffixes). Believe From when this is `pass`.',
    ),
  },
)
export type Authentication = Type.Static<typeof Authentication>

export const FromProven = Type.Unsafe<boolean | null>({
  type: ['boolean', 'null'],
  description:
    'Inbound: whether the domain in From is proven, by DMARC or, if it has no DMARC record, by an aligned SPF or DKIM. null for outbound, and where authentication is off.',
  examples: [true],
})

export const IsNewInThread = Type.Boolean({
  description:
    'Inbound: whether the author was no participant of the thread when the message came. A reply by thread does not reach such a newcomer; a reply to the message does.',
  examples: [false],
})

const Warning = named('MessageWarning', 'Something to be careful about in an inbound message.', {
  code: oneOf(['unproven_sender', 'new_in_thread', 'failed_authentication'], {
    title: 'WarningCode',
    description:
      'unproven_sender: nothing proves the address in From. failed_authentication: the domain in From says that the message is not from it. new_in_thread: the author took no part in the thread before.',
    examples: ['new_in_thread'],
  }),
  message: Type.String({ description: 'What it means and what to do, in a sentence or two.' }),
})
export type Warning = Type.Static<typeof Warning>

export const Warnings = Type.Array(Warning, {
  description: 'Inbound: what to be careful about. Empty if there is nothing, and for outbound.',
  examples: [[]],
})

export const AutoReplyReason = nullableOneOf(
  ['person', 'unproven', 'bounce', 'automatic', 'bulk', 'code', 'receipt', 'calendar', 'spam'],
  {
    title: 'AutoReplyReason',
    description:
      'Inbound: why `autoReplyable` is what it is. person: a person or another agent wrote it, so it is true. unproven: the author is not proven. The rest say what a program sent. null for outbound.',
    examples: ['person'],
  },
)
export type AutoReplyReason = NonNullable<Type.Static<typeof AutoReplyReason>>

export const Link = named('Link', 'A web link in a message.', {
  url: Type.String({
    description: 'Where the link leads. A stranger chose it: look before you follow.',
    examples: ['https://example.net/fish'],
  }),
  text: Type.String({
    description: 'The words that a reader sees in its place; of plain text the URL itself.',
    examples: ['The fish'],
  }),
})

export const OneTime = named('OneTime', 'What lets the reader of a message in, once.', {
  kind: oneOf(['code', 'link'], {
    title: 'OneTimeKind',
    description:
      'code: to be typed in (`otp`). link: to be opened, to sign in, confirm an address or set a password.',
    examples: ['code'],
  }),
  value: Type.String({
    description: 'The code, or the URL. A stranger chose it: look before you follow.',
    examples: ['482913'],
  }),
})

const ExtractionMethod = oneOf(['pdf', 'office', 'csv', 'html', 'text', 'unsupported', 'error'], {
  title: 'ExtractionMethod',
  description:
    'How the text of the attachment is had (GET /v1/attachments/{messageId}/{filename}/text). unsupported: not at all, as of an image. error: it was tried, and could not be read.',
  examples: ['text'],
})

const Attachment = named('Attachment', 'A file that came or went with a message.', {
  filename: Type.String({
    description: 'What the file is called, as the sender says; never a path.',
    examples: ['report.txt'],
  }),
  contentType: Type.String({
    description: 'Its media type, as the sender says it is.',
    examples: ['text/plain'],
  }),
  sizeBytes: Type.Integer({ minimum: 0, description: 'How large the file is, in bytes.', examples: [18] }),
  url: Type.String({
    format: 'uri',
    description: 'A download URL that is good for one hour, or until the API key that fetched it is revoked.',
    examples: [
      'https://mail.example.com/v1/attachments/019a8f1c-6b2e-7d40-9c51-3e0f7a2b4d18/0/report.txt?expires=1795257000000&signature=5d41402a',
    ],
  }),
  extractionMethod: ExtractionMethod,
  parsedText: nullableText({
    description: `The first ${parsedTextLength} characters of its text, once that was asked for; null before.`,
    examples: [null],
  }),
})

export const AttachmentText = named('AttachmentText', 'What an attachment says.', {
  messageId: idOf('The message that the file came with.'),
  inboxId: idOf('The inbox of that message.'),
  filename: Attachment.properties.filename,
  contentType: Attachment.properties.contentType,
  extractionMethod: ExtractionMethod,
  text: nullableText({
    description: `Its text, at most ${attachmentTextLength} characters; null with unsupported and error.`,
    examples: ['Seventy-two tons.'],
  }),
})
export type AttachmentText = Type.Static<typeof AttachmentText>

export const Message = named('Message', 'A message that came in or was sent.', {
  id: idOf('Names the message; replies, deliveries and the original are asked for by it.'),
  inboxId: idOf('The inbox that it came to or was sent from.'),
  threadId: idOf('The thread that it is in; a send with it is a reply.'),
  direction: Direction,
  rfcMessageId: nullableText({
    description: 'The Message-ID header, with angle brackets.',
    examples: ['<b1c2@example.net>'],
  }),
  inReplyTo: nullableText({ description: 'The Message-ID of the message that it answers.' }),
  references: Type.Array(Type.String(), {
    description: 'The Message-IDs of the conversation so far, oldest first.',
    examples: [[]],
  }),
  fromAddr: Type.String({
    description: 'The address in From. Whether it is proven stands in authentication.',
    examples: ['bob@example.net'],
  }),
  toAddr: Type.String({
    description: 'Inbound: the address of the inbox. Outbound: the primary recipient.',
    examples: ['agent@example.com'],
  }),
  to: Type.Array(Type.String(), {
    description: 'The addresses of To, as the header has them.',
    examples: [['agent@example.com']],
  }),
  headerTo: nullableText({
    description:
      'Inbound: whom the sender wrote to, comma-separated if several. When deliveryRole is cc, a reply goes to them and copies who wrote.',
    examples: ['agent@example.com'],
  }),
  deliveryRole: DeliveryRole,
  replyTo: nullableText({
    description: `Where answers are wanted (Reply-To), comma-separated if several; null: at fromAddr. If Reply-To names more than ${derivedRecipientsOfAll + 1} addresses, the first ${derivedRecipientsOfAll + 1} are here and \`parseProblems\` says so.`,
  }),
  cc: Type.Array(Type.String(), {
    description: 'The addresses of Cc: who got a copy, for all to see.',
    examples: [[]],
  }),
  addressNames: Type.Unsafe<Record<string, string> | null>({
    type: ['object', 'null'],
    additionalProperties: { type: 'string' },
    description:
      'Inbound: the display names of From, To and Cc by lower-case address; null when there are none.',
    examples: [{ 'bob@example.net': 'Bob' }],
  }),
  bcc: Type.Array(Type.String(), {
    description: 'Outbound: who got a copy that the others did not see. Empty for inbound.',
    examples: [[]],
  }),
  subject: Type.String({
    description: 'What it is about; empty when it has no subject.',
    examples: ['Re: The fish'],
  }),
  bodyText: Type.String({
    description: 'Its text; of a message that is HTML alone, made from it.',
    examples: ['Three euros.\n'],
  }),
  bodyHtml: Type.String({
    description:
      'Its HTML as it came, not made safe: do not show it in a page of yours as it is. Empty when it has none.',
    examples: [''],
  }),
  bodyTruncated: Type.Optional(
    Type.Literal(true, {
      description:
        'Only in a list, of a message for which it has no room: its texts are cut, its HTML and long lists left out. The message itself (GET /v1/messages/{id}) has all.',
    }),
  ),
  attachments: Type.Array(Attachment, { description: 'The files that came or went with it.' }),
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
  autoReplyReason: AutoReplyReason,
  verdict: VerdictName,
  authentication: Authentication,
  fromProven: FromProven,
  isNewInThread: IsNewInThread,
  warnings: Warnings,
  replyText: nullableText({
    description:
      'Inbound: what came anew, without quoted history and signature: what the sender wrote and, of a message that was forwarded, what that says; of a message that is nothing but a quote, all of it. Null for outbound.',
    examples: ['Three euros.'],
  }),
  otp: nullableText({
    description:
      'Inbound: the one-time code that the message brings, without spaces and hyphens. Null in doubt.',
  }),
  oneTime: Type.Union([OneTime, Type.Null()], {
    description:
      'Inbound: the code that the message brings, or else its link to sign in or to confirm. Null in doubt.',
    examples: [null],
  }),
  links: Type.Array(Link, {
    maxItems: linksShown,
    examples: [[]],
    description:
      'Inbound: the web links outside of quotes (what was forwarded is none), each once, and what each stands under.',
  }),
  parseProblems: Type.Array(Type.String(), {
    examples: [[]],
    description:
      'Inbound: why the message was not read to its end, only its header was read, or replyTo is not complete; the original has all of it. Empty for nearly all.',
  }),
  createdAt: instantOf('When it came in, or was given to be sent.'),
})
export type Message = Type.Static<typeof Message>

export const Delivery = named(
  'Delivery',
  'One message on its way to one recipient: how often it was tried, and what the other server said.',
  {
    id: idOf('Names the delivery; events have it as `delivery_id`, the log as `deliveryId`.'),
    recipient: Type.String({ description: 'The address that it goes to.', examples: ['bob@example.net'] }),
    purpose: oneOf(['send', 'forward', 'report'], {
      title: 'DeliveryPurpose',
      examples: ['send'],
      description:
        'send: a message of the inbox. forward: a copy of an inbound message to the address that forwardTo of the inbox names. report: what this server tells another by itself, such as a TLS report.',
    }),
    state: oneOf(['queued', 'deferred', 'delivered', 'failed', 'held', 'cancelled'], {
      title: 'DeliveryState',
      description:
        'queued: not tried yet. delivered: the server of the recipient took it. failed: it is not tried any more; replyText says why. cancelled: it was deleted before it went out. deferred: tried again at nextAttemptAt. held: the inbox is suspended; it goes on when that ends, with all the time that a new one has.',
      examples: ['delivered'],
    }),
    captured: Type.Boolean({
      description:
        'True when the message was kept on this machine instead of sent (delivery.mode = "capture").',
      examples: [false],
    }),
    attempts: Type.Integer({
      minimum: 0,
      description: 'How often a server was asked to take it.',
      examples: [1],
    }),
    replyCode: Type.Unsafe<number | null>({
      type: ['integer', 'null'],
      description: 'The SMTP code that the other side answered last; null: it gave none.',
      examples: [250],
    }),
    replyEnhanced: nullableText({
      description: 'The enhanced status code of that answer (RFC 3463).',
      examples: ['2.0.0'],
    }),
    replyText: nullableText({
      description: 'What the other side said last, or what happened in plain words.',
      examples: ['Ok: queued as 4F1B2'],
    }),
    replyClass: nullableOneOf(replyClasses, {
      title: 'ReplyClass',
      description:
        'What the last refusal is about: recipient (nobody is there), full (the mailbox), sender (our address or its proof), policy, reputation (the address that mail comes from), content, protocol, host (their server or the way to it), greylist, rate; null: not known, or none.',
      examples: ['recipient'],
    }),
    remoteHost: nullableText({
      description: 'The mail server that was asked last; null: none yet.',
      examples: ['mx.example.net'],
    }),
    nextAttemptAt: nullableText({
      format: 'date-time',
      description: 'When it is tried again; null: it is not.',
    }),
    outlook: Type.String({
      description: 'What happens to it, and when next, in one sentence for a person.',
      examples: ['Taken by mx.example.net at 2026-01-02T03:04:05.678Z.'],
    }),
    createdAt: instantOf('When the message was given to be sent to this recipient.'),
    updatedAt: instantOf('When it was last tried or its state changed.'),
  },
)
export type Delivery = Type.Static<typeof Delivery>
