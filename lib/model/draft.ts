import Type, { type TSchema } from 'typebox'
import { AttachmentUpload, attachmentsCount, SendRequest } from './send.ts'
import { idOf, instantOf, named, nullableOneOf, nullableText, oneOf } from './shape.ts'

/** The same schema, or null, which empties the field. */
function orNull<Value>(schema: object, options: object = {}) {
  const {
    examples,
    description,
    default: omitted,
    ...bare
  } = schema as { examples?: unknown; description?: unknown; default?: unknown }
  return Type.Optional(
    Type.Unsafe<Value | null>({
      anyOf: [bare as TSchema, { type: 'null' }],
      ...(omitted !== undefined && { default: omitted }),
      ...(examples !== undefined && { examples }),
      ...(description !== undefined && { description }),
      ...options,
    }),
  )
}

const { properties } = SendRequest

const draftFields = {
  to: orNull<string | readonly string[]>(properties.to),
  cc: orNull<string | readonly string[]>(properties.cc),
  bcc: orNull<string | readonly string[]>(properties.bcc),
  subject: orNull<string>(properties.subject),
  body: orNull<string>(properties.body),
  bodyHtml: orNull<string>(properties.bodyHtml),
  bodyFormat: orNull<'auto' | 'text' | 'html'>(properties.bodyFormat),
  threadId: orNull<string>(properties.threadId),
  replyAll: orNull<boolean>(properties.replyAll),
  replyTo: orNull<string>(properties.replyTo),
  includeQuote: orNull<boolean>(properties.includeQuote),
  autoSubmitted: orNull<boolean>(properties.autoSubmitted),
  attachments: Type.Optional(
    Type.Unsafe<readonly AttachmentUpload[] | null>({
      type: ['array', 'null'],
      items: AttachmentUpload,
      maxItems: attachmentsCount,
      description: 'They take the place of those that were there; null: there are none.',
    }),
  ),
  sendAt: orNull<string>(
    { type: 'string', format: 'date-time' },
    { description: 'When it is sent by itself; null: not at all.' },
  ),
}

export const DraftCreation = named(
  'DraftCreation',
  'What a draft begins with; all of it can be added later.',
  draftFields,
)

export const DraftChange = named('DraftChange', 'What of a draft becomes something else.', draftFields)
export type DraftChange = Type.Static<typeof DraftChange>

const DraftAttachment = named('DraftAttachment', 'A file that goes with a draft.', {
  filename: Type.String({ description: 'What the file is called.', examples: ['report.txt'] }),
  contentType: Type.String({ description: 'Its media type, as it was given.', examples: ['text/plain'] }),
  sizeBytes: Type.Integer({ minimum: 0, description: 'How large the file is, in bytes.', examples: [18] }),
  url: Type.String({
    format: 'uri',
    description:
      'A download URL that is good for one hour; of a draft that was sent, for the attachment of the message.',
    examples: [
      'https://mail.example.com/v1/attachments/019a8f1c-6b2e-7d40-9c51-3e0f7a2b4d18/0/report.txt?expires=1795257000&signature=5d41402a',
    ],
  }),
})

export const DraftError = named('DraftError', 'Why a draft was not sent at its time.', {
  error: Type.String({
    description: 'The code that a send would have been refused with.',
    examples: ['recipient_suppressed'],
  }),
  message: Type.String({ description: 'Why, and what to do about it, in a sentence for people.' }),
  at: Type.String({ format: 'date-time', description: 'When it was to be sent and could not be.' }),
})
export type DraftError = Type.Static<typeof DraftError>

export const Draft = named(
  'Draft',
  'A message that is not sent yet: it waits until somebody asks for that, or until a time of its own.',
  {
    id: idOf('Names the draft; the message that it becomes has an id of its own.'),
    inboxId: idOf('The inbox that it is sent from.'),
    threadId: nullableText({ description: 'The thread that it is a reply in; null: it begins one.' }),
    to: Type.Array(Type.String({ examples: ['bob@example.net'] }), {
      description:
        'The recipients. For a reply that named none: those that its thread led to when the draft was last changed. If that changes, sending it is refused as `recipients_changed`.',
    }),
    cc: Type.Array(Type.String(), { description: 'Who gets a copy, for all to see.', examples: [[]] }),
    notIncluded: Type.Array(Type.String(), {
      description:
        'For a reply without `to`: the addresses that the answered message leads a reply to and that get nothing, because they are no participants of the thread. Empty for other drafts.',
      examples: [[]],
    }),
    bcc: Type.Array(Type.String(), {
      description: 'Who gets a copy that the others do not see.',
      examples: [[]],
    }),
    subject: nullableText({
      description: "Of a reply that has none it is the thread's, with Re:.",
      examples: ['The fish'],
    }),
    body: nullableText({
      description:
        'What is to be said, as plain text or HTML; null while there is none, and then it can not be sent.',
      examples: ['Hello Bob,\n\nhow much is the fish?'],
    }),
    bodyHtml: nullableText({ description: 'Only when the HTML says something else than `body`.' }),
    bodyTruncated: Type.Optional(
      Type.Literal(true, {
        description:
          'Only in a list, of a draft for which it has no room: `body` is cut, `bodyHtml` left out. The draft itself (GET /v1/drafts/{id}) has all.',
      }),
    ),
    bodyFormat: nullableOneOf(['auto', 'text', 'html'], {
      description: 'What `body` is; null: auto.',
      examples: [null],
    }),
    replyTo: nullableText({ description: 'Where answers go, when not to the inbox.' }),
    replyAll: Type.Unsafe<boolean | null>({
      type: ['boolean', 'null'],
      description: 'Whether a reply goes to everybody; null: it does not.',
    }),
    includeQuote: Type.Unsafe<boolean | null>({
      type: ['boolean', 'null'],
      description: 'Whether a reply quotes the message before it; null: it does.',
    }),
    autoSubmitted: Type.Unsafe<boolean | null>({
      type: ['boolean', 'null'],
      description: 'Whether it is marked as written by a program; null: it is not.',
    }),
    attachments: Type.Array(DraftAttachment, {
      description: 'The files that go with it, in the order in which they were given.',
      examples: [[]],
    }),
    sendAt: Type.Unsafe<string | null>({
      type: ['string', 'null'],
      format: 'date-time',
      description: 'When it is sent by itself; null: not at all.',
    }),
    status: oneOf(['open', 'scheduled', 'sent'], {
      title: 'DraftStatus',
      description:
        'open: waits to be sent or changed. scheduled: is sent at sendAt. sent: is the message messageId now.',
    }),
    messageId: nullableText({ description: 'The message that it became when it was sent; null before.' }),
    lastError: Type.Unsafe<DraftError | null>({
      anyOf: [DraftError, { type: 'null' }],
      examples: [null],
      description:
        'Why it could not be sent at its time, in the code and words that a send would have been refused with. The draft is open again: do what the message says, then send or schedule it again.',
    }),
    createdAt: instantOf('When it was made.'),
    updatedAt: instantOf('When it was last changed, or sent.'),
  },
)
export type Draft = Type.Static<typeof Draft>
