import Type from 'typebox'
import type { EventName } from './event.ts'
import { idOf, named, nullableText } from './shape.ts'

const nothing = named('EventDataNone', 'Nothing more: the event says all with its other fields.', {})

const recipient = {
  delivery_id: idOf('The delivery to this recipient, as `GET /v1/messages/{id}/deliveries` lists it.'),
  recipient: Type.String({ description: 'The address that it is about.', examples: ['bob@example.net'] }),
}

const ofRecipient = named('EventDataRecipient', 'Which recipient the event is about.', recipient)

const ofRefusal = named('EventDataRefusal', 'Which recipient the event is about, and what was said of it.', {
  ...recipient,
  status: nullableText({
    description: 'The enhanced status code of what was said (RFC 3463); null: there was none.',
    examples: ['5.1.1'],
  }),
  diagnostic: Type.String({
    description: 'What the other server said, or what happened in plain words.',
    examples: ['550 5.1.1 no such user'],
  }),
})

const recipients = named('EventRecipients', 'The visible recipients of a draft.', {
  to: Type.Array(Type.String(), { description: 'The addresses in To.', examples: [['bob@example.net']] }),
  cc: Type.Array(Type.String(), { description: 'The addresses in Cc.', examples: [[]] }),
})
const ofDraft = named('EventDataDraft', 'Which scheduled draft was refused, and why.', {
  draft_id: idOf('The draft, as `GET /v1/drafts/{id}` shows it.'),
  error: Type.String({
    description: 'The code that a send would have been refused with.',
    examples: ['recipients_changed'],
  }),
  message: Type.String({ description: 'The reason, and what to do about it.' }),
  was: Type.Union([recipients, Type.Null()], {
    description: 'The recipients that the draft shows, after recipients_changed; otherwise null.',
  }),
  now: Type.Union([recipients, Type.Null()], {
    description: 'The recipients that its thread leads to now, after recipients_changed; otherwise null.',
  }),
})

const ofDomain = named(
  'EventDataDomain',
  'Which domain the event is about, and what its records are worth.',
  {
    domain_id: idOf('The domain that it is about.'),
    domain: Type.String({ description: 'Its name, in A-labels.', examples: ['agents.example.com'] }),
    problem: nullableText({
      description:
        'domain_taken: the records of another pod that added it were found first; null: nothing but the records.',
      examples: [null],
    }),
    records: Type.Unsafe<Record<string, string>>({
      type: 'object',
      additionalProperties: { type: 'string' },
      description: 'By purpose (mx, dkim, …): missing, invalid or valid.',
      examples: [{ mx: 'valid', dkim: 'valid' }],
    }),
  },
)

const ofSuspension = named('EventDataSuspension', 'Why an inbox may not send, or that it may again.', {
  reason: nullableText({
    description: 'What the operator gave as the reason; null when the inbox may send again.',
    examples: ['many complaints'],
  }),
})

/** What each event tells in `data`. */
export const eventData = {
  'message.received': nothing,
  'message.sent': nothing,
  'message.delivered': ofRecipient,
  'message.deferred': ofRefusal,
  'message.bounced': ofRefusal,
  'message.complained': ofRecipient,
  'message.failed': ofRefusal,
  'draft.blocked': ofDraft,
  'domain.verified': ofDomain,
  'domain.failed': ofDomain,
  'inbox.suspended': ofSuspension,
  'inbox.reactivated': ofSuspension,
  'webhook.test': nothing,
} as const satisfies Record<EventName, unknown>
