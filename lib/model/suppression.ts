import Type from 'typebox'
import { instantOf, named, nullableText, oneOf } from './shape.ts'

/** The text that tells why an address is suppressed. */
export const evidenceLength = 1000

export const SuppressionReason = oneOf(['bounce', 'complaint', 'unsubscribe', 'manual'], {
  title: 'SuppressionReason',
  description:
    'bounce: mail to it came back because nobody is there, or, with an end, because the mailbox was full. complaint: it reported a message as unwanted. unsubscribe: it asked for none. manual: somebody added it.',
})
export type SuppressionReason = Type.Static<typeof SuppressionReason>

const evidence = nullableText({
  maxLength: evidenceLength,
  description: 'Why: what the other side said, or a note.',
  examples: ['550 5.1.1 no such user'],
})
const expiresAt = Type.Unsafe<string | null>({
  type: ['string', 'null'],
  format: 'date-time',
  description: 'When it may be written to again; null: when somebody lifts that.',
})

export const Suppression = named(
  'Suppression',
  'An address that is not written to any more, by whom, since when and why; a send to it is refused.',
  {
    recipient: Type.String({
      format: 'email',
      description: 'The address that is not written to, in lower case.',
      examples: ['gone@example.net'],
    }),
    podId: nullableText({
      description:
        'The pod whose inboxes do not write to it, because mail that came back to that pod said so; null: nobody does, because a mail server told this one in the session, or somebody added it.',
    }),
    reason: SuppressionReason,
    evidence,
    messageId: nullableText({
      description:
        'The message that came back or was complained about; null when somebody added the address.',
    }),
    createdAt: instantOf('Since when the address is not written to.'),
    expiresAt,
  },
)
export type Suppression = Type.Static<typeof Suppression>

export const SuppressionCreation = named('SuppressionCreation', 'An address to be suppressed.', {
  recipient: Type.String({
    format: 'email',
    maxLength: 320,
    description: 'The address that is not to be written to any more.',
    examples: ['gone@example.net'],
  }),
  reason: Type.Optional(SuppressionReason),
  evidence: Type.Optional(evidence),
  expiresAt: Type.Optional(expiresAt),
})
export type SuppressionCreation = Type.Static<typeof SuppressionCreation>
