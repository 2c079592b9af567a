import Type from 'typebox'
import { limits } from '../base/limits.ts'
import { Instant, named, nullableText } from './shape.ts'

const name = nullableText({
  maxLength: limits.labelLength,
  description: 'A label for people.',
  examples: ['Ann'],
})

export const Member = named(
  'Member',
  'Somebody of the organisation: mail can be forwarded to this address without a mail that asks for consent.',
  {
    address: Type.String({
      format: 'email',
      description: 'Where mail can be forwarded to.',
      examples: ['ann@example.com'],
    }),
    name,
    createdAt: Instant,
  },
)
export type Member = Type.Static<typeof Member>

export const MemberCreation = named('MemberCreation', 'Somebody who is to be a member.', {
  address: Type.String({
    format: 'email',
    maxLength: 320,
    description: 'Where mail can be forwarded to.',
    examples: ['ann@example.com'],
  }),
  name: Type.Optional(name),
})
export type MemberCreation = Type.Static<typeof MemberCreation>
