import Type from 'typebox'
import { eventNames } from './event.ts'
import { Id, Instant, nullableText, oneOf, shape } from './shape.ts'

/** The message of an event as webhooks and streams get it. */
export const EventMessage = shape({
  id: Id,
  rfc_message_id: nullableText({ description: 'Its Message-ID, with angle brackets.' }),
  from: Type.String(),
  to: Type.Array(Type.String(), { description: 'Whom the sender wrote to.' }),
  cc: Type.Array(Type.String()),
  subject: Type.String(),
  body_text: Type.String(),
  truncated: Type.Optional(
    Type.Literal(true, {
      description: 'There only when body_text was cut: all of it is at GET /v1/messages/{id}.',
    }),
  ),
  attachments: Type.Array(
    shape({
      filename: Type.String(),
      contentType: Type.String(),
      sizeBytes: Type.Integer(),
      url: Type.String({ description: 'Signed; good for an hour.' }),
    }),
  ),
  received_at: Instant,
  category: Type.String(),
  auto_replyable: Type.Boolean(),
  verdict: Type.String(),
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
      description: 'What else is told, by type: the recipient, the domain, the reason.',
    }),
  },
  { description: 'Something that happened, as it is told.' },
)
export type EventBody = Type.Static<typeof EventBody>
