import Type from 'typebox'
import { eventNames } from './event.ts'
import { Id, Instant, nullableText, oneOf, shape } from './shape.ts'

/** The message of an event as webhooks and streams get it. */
export const EventMessage = shape({
  id: Id,
  rfc_message_id: nullableText({ description: 'Its Message-ID, with angle brackets.' }),
  from: Type.String({ examples: ['ann@example.com'] }),
  to: Type.Array(Type.String(), {
    examples: [['agent@example.com']],
    description: 'Whom the sender wrote to.',
  }),
  cc: Type.Array(Type.String(), { examples: [[]] }),
  subject: Type.String({ examples: ['Invoice 18'] }),
  body_text: Type.String({ examples: ['Are you there?'] }),
  truncated: Type.Optional(
    Type.Literal(true, {
      description: 'There only when body_text was cut: all of it is at GET /v1/messages/{id}.',
    }),
  ),
  attachments: Type.Array(
    shape({
      filename: Type.String({ examples: ['invoice.pdf'] }),
      contentType: Type.String({ examples: ['application/pdf'] }),
      sizeBytes: Type.Integer({ examples: [18_204] }),
      url: Type.String({ description: 'Signed; good for an hour.' }),
    }),
  ),
  received_at: Instant,
  category: Type.String({ examples: ['personal'] }),
  auto_replyable: Type.Boolean(),
  verdict: Type.String({ examples: ['clean'] }),
})
export type EventMessage = Type.Static<typeof EventMessage>

/** What a webhook is called with, and what the stream sends. */
export const EventBody = shape(
  {
    event: oneOf(eventNames),
    event_id: Id,
    occurred_at: Instant,
    delivered_at: Type.String({ format: 'date-time', description: 'When this attempt to tell it was made.' }),
    attempt: Type.Integer({ minimum: 1 }),
    pod_id: nullableText(),
    inbox_id: nullableText(),
    thread_id: nullableText(),
    message: Type.Union([EventMessage, Type.Null()], {
      description: 'null for what is about no message, or about one that was deleted since.',
    }),
    data: Type.Unsafe<Record<string, unknown>>({
      type: 'object',
      examples: [{}],
      description: 'What else is told, by type: the recipient, the domain, the reason.',
    }),
  },
  { description: 'Something that happened, as it is told.' },
)
export type EventBody = Type.Static<typeof EventBody>
