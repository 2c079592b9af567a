import Type from 'typebox'
import { limits } from '../base/limits.ts'
import { Id, Instant, nullableText, shape } from './shape.ts'

const clientId = nullableText({
  minLength: 1,
  maxLength: limits.labelLength,
  description: "The caller's own identifier, unique in the account; usable in place of the pod's id.",
  examples: ['customer-17'],
})
const name = nullableText({
  maxLength: limits.labelLength,
  description: 'A label for people.',
  examples: ['Customer 17'],
})

export const Pod = shape(
  { id: Id, clientId, name, isDefault: Type.Boolean({ examples: [false] }), createdAt: Instant },
  { description: 'A tenant: an isolated part of the account with its own inboxes, domains and keys.' },
)
export type Pod = Type.Static<typeof Pod>

export const PodChange = shape({ clientId: Type.Optional(clientId), name: Type.Optional(name) })
export type PodChange = Type.Static<typeof PodChange>
