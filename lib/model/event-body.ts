import Type from 'typebox'
import { linksShown } from '../base/lengths.ts'
import { eventMeanings, eventNames } from './event.ts'
import {
  Authentication,
  AutoReplyReason,
  Category,
  DeliveryRole,
  Direction,
  FromProven,
  IsNewInThread,
  Link,
  OneTime,
  VerdictName,
  Warnings,
} from './message.ts'
import { idOf, instantOf, named, nullableText, oneOf } from './shape.ts'

/** What is cut of the message of an event that would be too large. */
const truncatedFields = [
  'body_html',
  'body_text',
  'reply_text',
  'links',
  'attachments',
  'cc',
  'header_to',
  'to',
  'reply_to',
  'subject',
] as const

/** The message of an event as webhooks and streams get it. */
export const EventMessage = named('EventMessage', 'The message that an event is about.', {
  id: idOf('Names the message: `GET /v1/messages/{id}` shows all of it.'),
  rfc_message_id: nullableText({ description: 'Its Message-ID, with angle brackets.' }),
  direction: Direction,
  from: Type.String({
    description: 'The address in From, without the name.',
    examples: ['ann@example.com'],
  }),
  to: Type.String({
    description:
      'Inbound: the address of the inbox. Outbound: whom the message was written to, comma-separated if several.',
    examples: ['agent@example.com'],
  }),
  header_to: Type.Array(Type.String(), {
    description: 'The addresses of To, as the header has them. Empty when it has none.',
    examples: [['agent@example.com']],
  }),
  cc: Type.Array(Type.String(), {
    description: 'The addresses of Cc: who got a copy, for all to see.',
    examples: [[]],
  }),
  delivery_role: DeliveryRole,
  subject: Type.String({ description: 'Its subject; empty when it has none.', examples: ['Invoice 18'] }),
  body_text: Type.String({
    description: 'Its text; of a message that is HTML alone, made from it.',
    examples: ['Are you there?'],
  }),
  body_html: Type.String({ description: 'Its HTML; empty when it has none.', examples: [''] }),
  reply_text: nullableText({
    description:
      'Inbound: what came anew, without quoted history and signature, and what was forwarded. Null for outbound.',
    examples: ['Are you there?'],
  }),
  otp: nullableText({
    description: 'Inbound: the one-time code that the message brings. Null in doubt.',
    examples: [null],
  }),
  one_time: Type.Union([OneTime, Type.Null()], {
    description: 'Inbound: that code, or else the link to sign in or to confirm. Null in doubt.',
    examples: [null],
  }),
  links: Type.Array(Link, {
    maxItems: linksShown,
    examples: [[]],
    description: 'Inbound: the web links outside of quotes.',
  }),
  truncated: Type.Optional(
    Type.Literal(true, {
      description:
        'There only when the event would have been too large, and something of the message was cut: all of it is at GET /v1/messages/{id}.',
    }),
  ),
  truncated_fields: Type.Optional(
    Type.Array(
      oneOf(truncatedFields, {
        title: 'TruncatedField',
        description: 'A field of the message of an event that was cut to make room.',
      }),
      {
        description:
          'With `truncated`: what was cut, in this order as far as it was needed. Of body_text, reply_text, to, reply_to and subject the beginning is left; the others are empty.',
      },
    ),
  ),
  attachments: Type.Array(
    named('EventAttachment', 'A file of the message of an event.', {
      filename: Type.String({
        description: 'What the file is called, as the sender says; never a path.',
        examples: ['invoice.pdf'],
      }),
      contentType: Type.String({
        description: 'Its media type, as the sender says it is.',
        examples: ['application/pdf'],
      }),
      sizeBytes: Type.Integer({ description: 'How large the file is, in bytes.', examples: [18_204] }),
      url: Type.String({
        description:
          'A download URL, signed anew whenever the event is told: good for an hour, without a key.',
      }),
    }),
    { description: 'The files that came or went with it.' },
  ),
  received_at: Type.Optional(
    Type.String({
      format: 'date-time',
      description: 'Inbound: when it came in. Absent for outbound.',
      examples: ['2026-11-21T09:30:00.000Z'],
    }),
  ),
  sent_at: Type.Optional(
    Type.String({
      format: 'date-time',
      description: 'Outbound: when it was given to be sent. Absent for inbound.',
    }),
  ),
  category: Category,
  auto_replyable: Type.Boolean({
    description: 'Whether a person, or another agent, wrote it; never answer the rest automatically.',
    examples: [true],
  }),
  auto_reply_reason: AutoReplyReason,
  verdict: VerdictName,
  authentication: Authentication,
  reply_to: nullableText({
    description: 'Where answers are wanted (Reply-To), comma-separated if several; null: at `from`.',
    examples: [null],
  }),
  from_proven: FromProven,
  is_new_in_thread: IsNewInThread,
  warnings: Warnings,
})
export type EventMessage = Type.Static<typeof EventMessage>

/** What a webhook is called with, what streams send, and what GET /v1/events lists. */
export const EventBody = named(
  'EventBody',
  'Something that happened, as it is told: the same object for webhooks, streams and lists.',
  {
    event: oneOf(eventNames, {
      title: 'EventName',
      description: eventNames.map(name => `- \`${name}\`: ${eventMeanings[name][0]}`).join('\n'),
    }),
    event_id: idOf(
      'Names the event, the same whenever and wherever it is told: what was dealt with already is known by it. Ordered by time.',
    ),
    occurred_at: instantOf('When it happened; `delivered_at` is when it is told.'),
    delivered_at: Type.String({ format: 'date-time', description: 'When this attempt to tell it was made.' }),
    attempt: Type.Integer({
      minimum: 1,
      description: 'Which attempt this is to tell it here; the first is 1.',
    }),
    pod_id: nullableText({ description: 'The pod that it happened in; null: in none.' }),
    inbox_id: nullableText({ description: 'The inbox that it happened in; null: in none.' }),
    inbox_address: nullableText({
      description: 'The address of that inbox; null: it happened in none.',
      examples: ['agent@example.com'],
    }),
    thread_id: nullableText({ description: 'The thread of the message; null: it is about no message.' }),
    message: Type.Union([EventMessage, Type.Null()], {
      description: 'null for what is about no message, or about one that was deleted since.',
    }),
    data: Type.Unsafe<Record<string, unknown>>({
      type: 'object',
      examples: [{}],
      description:
        'What else is told of this kind of event: the recipient and what its server said, the domain, the reason. The schemas of the webhooks (`MessageBouncedEvent` and the others) have its fields.',
    }),
  },
)
export type EventBody = Type.Static<typeof EventBody>
