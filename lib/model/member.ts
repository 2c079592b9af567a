import Type from 'typebox'
import { limits } from '../base/limits.ts'
import { Instant, nullableText, shape } from './shape.ts'

const name = nullableText({ maxLength: limits.labelLength, examples: ['Ann'] })

export const Member = shape(
  { address: Type.String({ format: 'email', examples: ['ann@example.com'] }), name, createdAt: Instant },
  { description: 'Somebody of the organisation: mail can be forwarded to this address without asking it.' },
)
export type Member = Type.Static<typeof Member>

export const MemberCreation = shape({
  address: Type.String({ format: 'email', maxLength: 320, examples: ['ann@example.com'] }),
  name: Type.Optional(name),
})
export type MemberCreation = Type.Static<typeof MemberCreation>
