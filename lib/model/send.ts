import Type from 'typebox'
import { filenameLength, sendRecipients, subjectLength } from '../base/lengths.ts'
import { attachmentsBytes } from '../base/problem.ts'
import { idOf, named, nullableText, oneOf } from './shape.ts'

/** An address with a display name, as a request writes it. */
export const mailboxLength = 998
/** Characters of the text and of the HTML of a message that is sent. */
export const sendBodyLength = 100_000
export const sendBodyHtmlLength = 500_000
/** Attachments of a message that is sent. */
export const attachmentsCount = 100

/** An address or a list of them, each as `bob@example.net` or `Bob <bob@example.net>`. */
function people(description: string, example = 'bob@example.net') {
  return Type.Unsafe<string | readonly string[]>({
    // Each of the rest is asked of what has this type.
    type: ['string', 'array'],
    maxLength: mailboxLength,
    maxItems: sendRecipients,
    items: { type: 'string', maxLength: mailboxLength, examples: [example] },
    description: `${description} An address or a list, each as bob@example.net or Bob <bob@example.net>.`,
    examples: [example],
  })
}

const upload = named('AttachmentUpload', 'A file that goes with a message.', {
  filename: Type.String({
    minLength: 1,
    maxLength: filenameLength,
    description: 'What the file is called for the recipient.',
    examples: ['report.txt'],
  }),
  contentType: Type.Optional(
    nullableText({
      maxLength: 255,
      description: 'Its media type; application/octet-stream when omitted.',
      examples: ['text/plain'],
    }),
  ),
  // The door may have decoded it already: then it is bytes.
  content: Type.Unsafe<string | Buffer>({
    type: ['string', 'null'],
    contentEncoding: 'base64',
    description: 'The bytes in base64. Required, unless they stand in `data`.',
    examples: ['U2V2ZW50eS10d28gdG9ucy4K'],
  }),
  data: Type.Optional(
    nullableText({
      contentEncoding: 'base64',
      description: 'Another name for `content`, for clients that call it so; give one of the two.',
    }),
  ),
})

/** Of `content` and `data` it has one, and the door makes that `content`; none is what `sendFaults` tells. */
export const AttachmentUpload = { ...upload, required: ['filename'] } as unknown as typeof upload
export type AttachmentUpload = Type.Static<typeof AttachmentUpload>

export const SendRequest = named('SendRequest', 'A message to be sent, or a reply.', {
  to: Type.Optional(
    people(
      'The recipients, taken as they stand. Optional with threadId: the reply then reaches participants of the thread only. It answers the newest message that a participant wrote in person: its Reply-To, else its From; if the inbox was only copied, the people in its To, with a copy to the author. The answer lists whom it reached and whom it left out.',
    ),
  ),
  body: Type.String({
    minLength: 1,
    maxLength: sendBodyLength,
    description: 'Plain text or HTML; HTML is recognised, and a text part is made for it.',
    examples: ['Hello Bob,\n\nhow much is the fish?'],
  }),
  subject: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: subjectLength,
      description: "Required for a new thread; in a reply the thread's subject with Re: when omitted.",
      examples: ['The fish'],
    }),
  ),
  bodyHtml: Type.Optional(
    Type.String({
      maxLength: sendBodyHtmlLength,
      description: 'Only when the text and the HTML must differ.',
    }),
  ),
  bodyFormat: Type.Optional(
    oneOf(['auto', 'text', 'html'], {
      description:
        'What `body` is. auto: HTML if it looks like HTML. Use text whenever body holds words that somebody else wrote: they may look like HTML.',
      default: 'auto',
    }),
  ),
  threadId: Type.Optional(Type.String({ description: 'Makes this a reply in that thread.' })),
  replyAll: Type.Optional(
    Type.Boolean({
      default: false,
      description:
        'For replies without `to`: whether everybody else in To and Cc of the answered message gets a copy. By thread, only participants do.',
    }),
  ),
  includeQuote: Type.Optional(
    Type.Boolean({ default: true, description: 'Whether a reply quotes the message before it.' }),
  ),
  replyTo: Type.Optional(
    Type.String({
      format: 'email',
      maxLength: 320,
      description: 'Where answers go, when not to the inbox. On the free plan an address of an inbox here.',
    }),
  ),
  cc: Type.Optional(people('Who gets a copy.', 'carol@example.net')),
  bcc: Type.Optional(people('Who gets a copy that the other recipients do not see.', 'dan@example.net')),
  attachments: Type.Optional(
    Type.Array(AttachmentUpload, {
      maxItems: attachmentsCount,
      description: `Files that go with it, together at most ${attachmentsBytes / 1024 / 1024} MB.`,
    }),
  ),
  autoSubmitted: Type.Optional(
    Type.Boolean({
      description:
        'Marks the message as written by a program (RFC 3834), so that others do not answer it automatically.',
    }),
  ),
})
export type SendRequest = Type.Static<typeof SendRequest>

const { threadId: _thread, ...replyFields } = SendRequest.properties
const { replyAll: _toAll, ...replyAllFields } = replyFields
const { includeQuote: _quote, to: _to, body: _body, ...forwardFields } = replyAllFields

export const ReplyRequest = named(
  'ReplyRequest',
  'An answer to a message: as a send, but that the message says which thread it is in.',
  replyFields,
)

export const ReplyAllRequest = named(
  'ReplyAllRequest',
  'An answer to everybody who took part in a message.',
  replyAllFields,
)

export const ForwardRequest = named(
  'ForwardRequest',
  'To whom a message is passed on, and what stands before it.',
  {
    ...forwardFields,
    to: people('Whom the message is passed on to.'),
    body: Type.Optional(
      Type.String({
        maxLength: sendBodyLength,
        description: 'What stands before it: plain text or HTML.',
        examples: ['For your information.'],
      }),
    ),
    asAttachment: Type.Optional(
      Type.Boolean({
        default: false,
        description:
          'true: the message is attached as it came, byte for byte (message/rfc822). false: its text stands below the body, with its attachments.',
      }),
    ),
    includeMalicious: Type.Optional(
      Type.Boolean({
        default: false,
        description:
          'Whether a message in which a scanner found a virus (verdict "malicious") is passed on, too, such as to who looks into it.',
      }),
    ),
  },
)
export type ForwardRequest = Type.Static<typeof ForwardRequest>

export const SendResult = named('SendResult', 'The message that was made.', {
  messageId: idOf('The message that was made: what becomes of it is at `GET /v1/messages/{id}`.'),
  threadId: idOf('The thread that it is in: that of a reply, else a new one.'),
  providerMessageId: Type.String({
    description: 'The Message-ID header, with angle brackets.',
    examples: ['<019a8f1c-6b2e-7d40-9c51-3e0f7a2b4d18@example.com>'],
  }),
  status: oneOf(['pending', 'sent', 'failed'], {
    title: 'SendStatus',
    description:
      'pending: the message is safely queued, and no server has taken or refused it yet. The others only in the answer to a repeat.',
  }),
  to: Type.Array(Type.String(), {
    description: 'The recipients in To, as sent.',
    examples: [['bob@example.net']],
  }),
  cc: Type.Array(Type.String(), { description: 'The recipients in Cc, as sent.', examples: [[]] }),
  bcc: Type.Array(Type.String(), { description: 'The hidden recipients, as sent.', examples: [[]] }),
  notIncluded: Type.Array(Type.String(), {
    description:
      'For a reply by thread without `to`: the addresses that the answered message leads a reply to (Reply-To or From; with `replyAll` also To and Cc) and that got nothing, because they are no participants of the thread. List them in `to` or `cc` to reach them. Empty for other sends.',
    examples: [[]],
  }),
})
export type SendResult = Type.Static<typeof SendResult>
