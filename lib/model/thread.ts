import Type from 'typebox'
import { Message } from './message.ts'
import { Id, Instant, shape } from './shape.ts'

const subject = Type.String({ examples: ['The fish'] })
const isRead = Type.Boolean({ examples: [false] })

const properties = {
  id: Id,
  inboxId: Id,
  subject,
  isRead,
  lastMessageAt: Instant,
  createdAt: Instant,
  messageCount: Type.Integer({ minimum: 0, examples: [2] }),
}

export const Thread = shape(properties)
export type Thread = Type.Static<typeof Thread>

export const ThreadMessages = shape({
  threadId: Id,
  inboxId: Id,
  subject,
  isRead,
  data: Type.Array(Message, { description: 'Oldest first.' }),
})
export type ThreadMessages = Type.Static<typeof ThreadMessages>

/** Either spelling; `is_read` is the specification's. */
export const ThreadChange = shape({
  is_read: Type.Optional(Type.Boolean({ examples: [true] })),
  isRead: Type.Optional(Type.Boolean()),
})
export type ThreadChange = Type.Static<typeof ThreadChange>
