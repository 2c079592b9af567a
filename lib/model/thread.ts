import Type from 'typebox'
import { Message } from './message.ts'
import { Id, Instant, named } from './shape.ts'

const subject = Type.String({ description: 'That of its first message.', examples: ['The fish'] })
const isRead = Type.Boolean({
  description: 'Whether it was dealt with. New mail makes it false, a reply that is sent makes it true.',
  examples: [false],
})

const properties = {
  id: Id,
  inboxId: Id,
  subject,
  isRead,
  lastMessageAt: Instant,
  createdAt: Instant,
  messageCount: Type.Integer({ minimum: 0, description: 'How many messages it has.', examples: [2] }),
}

export const Thread = named('Thread', 'Messages of one inbox that answer each other.', properties)
export type Thread = Type.Static<typeof Thread>

export const ThreadMessages = named('ThreadMessages', 'A thread with its messages.', {
  threadId: Id,
  inboxId: Id,
  subject,
  isRead,
  data: Type.Array(Message, { description: 'Oldest first.' }),
})
export type ThreadMessages = Type.Static<typeof ThreadMessages>

/** Either spelling; `is_read` is the specification's. */
export const ThreadChange = named('ThreadChange', 'What of a thread becomes something else.', {
  is_read: Type.Optional(
    Type.Boolean({
      description: 'true: dealt with. false: put it into the queue again.',
      examples: [true],
    }),
  ),
  isRead: Type.Optional(Type.Boolean({ description: 'The same in another spelling.' })),
})
export type ThreadChange = Type.Static<typeof ThreadChange>

export const ThreadChanged = named('ThreadChanged', 'The thread is as it was asked for.', {
  ok: Type.Literal(true, { description: 'Always true; a refusal has another status.' }),
})
