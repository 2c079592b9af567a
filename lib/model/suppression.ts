import Type from 'typebox'
import { limits } from '../base/limits.ts'
import { Instant, nullableText, oneOf, shape } from './shape.ts'

export const SuppressionReason = oneOf(['bounce', 'complaint', 'unsubscribe', 'manual'])
export type SuppressionReason = Type.Static<typeof SuppressionReason>

const evidence = nullableText({
  maxLength: limits.evidenceLength,
  description: 'Why: what the other side said, or a note.',
  examples: ['550 5.1.1 no such user'],
})
const expiresAt = Type.Unsafe<string | null>({
  type: ['string', 'null'],
  format: 'date-time',
  description: 'When it ends; null: never.',
})

export const Suppression = shape(
  {
    recipient: Type.String({ format: 'email', examples: ['gone@example.net'] }),
    reason: SuppressionReason,
    evidence,
    messageId: nullableText({ description: 'The message that came back.' }),
    createdAt: Instant,
    expiresAt,
  },
  { description: 'An address that is not written to any more.' },
)
export type Suppression = Type.Static<typeof Suppression>

export const SuppressionCreation = shape({
  recipient: Type.String({ format: 'email', maxLength: 320, examples: ['gone@example.net'] }),
  reason: Type.Optional(SuppressionReason),
  evidence: Type.Optional(evidence),
  expiresAt: Type.Optional(expiresAt),
})
export type SuppressionCreation = Type.Static<typeof SuppressionCreation>
