import Type from 'typebox'
import { eventNames } from './event.ts'
import { Id, Instant, named, nullableText, oneOf } from './shape.ts'

/** The message of an event as webhooks and streams get it. */
export const EventMessage = named('EventMessage', 'The message that an event is about.', {
  id: Id,
  rfc_message_id: nullableText({ description: 'Its Message-ID, with angle brackets.' }),
  from: Type.String({
    description: 'The address in From, without the name.',
    examples: ['ann@example.com'],
  }),
  to: Type.Array(Type.String(), {
    examples: [['agent@example.com']],
    description: 'Whom the sender wrote to.',
  }),
  cc: Type.Array(Type.String(), { description: 'Who got a copy, as the header says.', examples: [[]] }),
  subject: Type.String({ description: 'Its subject; empty when it has none.', examples: ['Invoice 18'] }),
  body_text: Type.String({
    description: 'Its text; of a message that is HTML alone, made from it.',
    examples: ['Are you there?'],
  }),
  truncated: Type.Optional(
    Type.Literal(true, {
      description: 'There only when body_text was cut: all of it is at GET /v1/messages/{id}.',
    }),
  ),
  attachments: Type.Array(
    named('EventAttachment', 'A file of the message of an event.', {
      filename: Type.String({ description: 'What the file is called.', examples: ['invoice.pdf'] }),
      contentType: Type.String({ description: 'Its media type.', examples: ['application/pdf'] }),
      sizeBytes: Type.Integer({ description: 'How large the file is.', examples: [18_204] }),
      url: Type.String({ description: 'Signed; good for an hour.' }),
    }),
    { description: 'The files that came or went with it.' },
  ),
  received_at: Instant,
  category: Type.String({
    description: 'What kind of mail it is, as of the message itself.',
    examples: ['personal'],
  }),
  auto_replyable: Type.Boolean({
    description: 'Whether a person, or another agent, wrote it; never answer the rest automatically.',
  }),
  verdict: Type.String({ description: 'Whether it is spam or harmful.', examples: ['clean'] }),
})
export type EventMessage = Type.Static<typeof EventMessage>

/** What a webhook is called with, and what the stream sends. */
export const EventBody = named(
  'EventBody',
  'Something that happened, as it is told: the same object for webhooks, streams and lists.',
  {
    event: oneOf(eventNames),
    event_id: Id,
    occurred_at: Instant,
    delivered_at: Type.String({ format: 'date-time', description: 'When this attempt to tell it was made.' }),
    attempt: Type.Integer({
      minimum: 1,
      description: 'Which attempt this is to tell it here; the first is 1.',
    }),
    pod_id: nullableText({ description: 'The pod that it happened in; null: in none.' }),
    inbox_id: nullableText({ description: 'The inbox that it happened in; null: in none.' }),
    thread_id: nullableText({ description: 'The thread of the message; null: it is about no message.' }),
    message: Type.Union([EventMessage, Type.Null()], {
      description: 'null for what is about no message, or about one that was deleted since.',
    }),
    data: Type.Unsafe<Record<string, unknown>>({
      type: 'object',
      examples: [{}],
      description: 'What else is told, by type: the recipient, the domain, the reason.',
    }),
  },
)
export type EventBody = Type.Static<typeof EventBody>
