import Type from 'typebox'
import { limits } from '../base/limits.ts'
import { Id, Instant, nullableText, shape } from './shape.ts'

const displayName = nullableText({
  maxLength: limits.displayNameLength,
  description: 'The name in the From header of what the inbox sends.',
})

export const Inbox = shape(
  {
    id: Id,
    podId: Id,
    address: Type.String({ format: 'email' }),
    displayName,
    createdAt: Instant,
  },
  { description: 'A mailbox of an agent, with an address of its own.' },
)
export type Inbox = Type.Static<typeof Inbox>

export const InboxCreation = shape({
  mailboxName: Type.Optional(
    Type.String({
      description:
        'The part before the @: 3 to 30 characters of a-z, 0-9, dot, hyphen, underscore. Random when omitted.',
    }),
  ),
  displayName: Type.Optional(displayName),
  domain: Type.Optional(Type.String({ description: "The account's default domain when omitted." })),
  podId: Type.Optional(Type.String({ description: 'A pod id or clientId; the default pod when omitted.' })),
})
export type InboxCreation = Type.Static<typeof InboxCreation>

export const InboxChange = shape({ displayName: Type.Optional(displayName) })
export type InboxChange = Type.Static<typeof InboxChange>
