import Type from 'typebox'
import { instantOf, labelLength, named, nullableText } from './shape.ts'

const name = nullableText({
  maxLength: labelLength,
  description: 'What the person is called, for people; nothing is done with it.',
  examples: ['Ann'],
})

export const Member = named(
  'Member',
  'Somebody of the organisation: mail can be forwarded to this address without a mail that asks for consent.',
  {
    address: Type.String({
      format: 'email',
      description: 'The address that mail can be forwarded to.',
      examples: ['ann@example.com'],
    }),
    name,
    createdAt: instantOf('When the address was made a member.'),
  },
)
export type Member = Type.Static<typeof Member>

export const MemberCreation = named('MemberCreation', 'Somebody who is to be a member.', {
  address: Type.String({
    format: 'email',
    maxLength: 320,
    description: 'The address that mail can be forwarded to.',
    examples: ['ann@example.com'],
  }),
  name: Type.Optional(name),
})
export type MemberCreation = Type.Static<typeof MemberCreation>
