import Type from 'typebox'
import { limits } from '../base/limits.ts'
import { AttachmentUpload, SendRequest } from './send.ts'
import { Id, Instant, nullableText, oneOf, shape } from './shape.ts'

/** The same schema, or null, which empties the field. */
function orNull<Value>(schema: object, options: object = {}) {
  const examples = 'examples' in schema ? { examples: schema.examples } : {}
  return Type.Optional(
    Type.Unsafe<Value | null>({ anyOf: [{ ...schema }, { type: 'null' }], ...examples, ...options }),
  )
}

const { properties } = SendRequest

export const DraftChange = shape({
  to: orNull<string | readonly string[]>(properties.to),
  cc: orNull<string | readonly string[]>(properties.cc),
  bcc: orNull<string | readonly string[]>(properties.bcc),
  subject: orNull<string>(properties.subject),
  body: orNull<string>(properties.body),
  bodyHtml: orNull<string>(properties.bodyHtml),
  threadId: orNull<string>(properties.threadId),
  replyAll: orNull<boolean>(properties.replyAll),
  replyTo: orNull<string>(properties.replyTo),
  includeQuote: orNull<boolean>(properties.includeQuote),
  autoSubmitted: orNull<boolean>(properties.autoSubmitted),
  attachments: Type.Optional(
    Type.Array(AttachmentUpload, {
      maxItems: limits.attachmentsCount,
      description: 'They take the place of those that were there.',
    }),
  ),
  sendAt: orNull<string>(
    { type: 'string', format: 'date-time' },
    { description: 'When it is sent by itself; null: not at all.' },
  ),
})
export type DraftChange = Type.Static<typeof DraftChange>

const DraftAttachment = shape({
  filename: Type.String({ examples: ['report.txt'] }),
  contentType: Type.String({ examples: ['text/plain'] }),
  sizeBytes: Type.Integer({ minimum: 0, examples: [18] }),
})

export const Draft = shape(
  {
    id: Id,
    inboxId: Id,
    threadId: nullableText({ description: 'The thread that it is a reply in.' }),
    to: Type.Array(Type.String({ examples: ['bob@example.net'] }), {
      description: 'Empty in a reply that goes where the thread says when it is sent.',
    }),
    cc: Type.Array(Type.String(), { examples: [[]] }),
    bcc: Type.Array(Type.String(), { examples: [[]] }),
    subject: nullableText({ examples: ['The fish'] }),
    body: nullableText({ examples: ['Hello Bob,\n\nhow much is the fish?'] }),
    bodyHtml: nullableText(),
    replyTo: nullableText(),
    replyAll: Type.Unsafe<boolean | null>({ type: ['boolean', 'null'] }),
    includeQuote: Type.Unsafe<boolean | null>({ type: ['boolean', 'null'] }),
    autoSubmitted: Type.Unsafe<boolean | null>({ type: ['boolean', 'null'] }),
    attachments: Type.Array(DraftAttachment, { examples: [[]] }),
    sendAt: Type.Unsafe<string | null>({ type: ['string', 'null'], format: 'date-time' }),
    status: oneOf(['open', 'scheduled', 'sent']),
    messageId: nullableText({ description: 'The message that it became.' }),
    lastError: Type.Unsafe<DraftError | null>({
      type: ['object', 'null'],
      examples: [null],
      required: ['error', 'message', 'at'],
      properties: {
        error: { type: 'string' },
        message: { type: 'string' },
        at: { type: 'string', format: 'date-time' },
      },
      description:
        'Why it could not be sent at its time, in the code and words that a send would have been refused with.',
    }),
    createdAt: Instant,
    updatedAt: Instant,
  },
  { description: 'A message that is not sent yet.' },
)
export type Draft = Type.Static<typeof Draft>

export interface DraftError {
  readonly error: string
  readonly message: string
  readonly at: string
}
