import Type from 'typebox'
import { Message } from './message.ts'
import { idOf, instantOf, named } from './shape.ts'

const subject = Type.String({
  description: 'The subject of its first message; a reply without one takes it, with Re:.',
  examples: ['The fish'],
})
const isRead = Type.Boolean({
  description: 'Whether it was dealt with. New mail makes it false, a reply that is sent makes it true.',
  examples: [false],
})

const properties = {
  id: idOf('Names the thread; a send takes it as `threadId`.'),
  inboxId: idOf('The inbox whose mail this is: a reply is sent from it.'),
  subject,
  isRead,
  lastMessageAt: instantOf('When the newest message of it came or was sent; lists are in this order.'),
  createdAt: instantOf('When its first message came or was sent.'),
  messageCount: Type.Integer({
    minimum: 0,
    description: 'How many messages it has, both that came in and that were sent.',
    examples: [2],
  }),
}

/** Not `Thread`, which Java, C# and Swift have already. */
export const MessageThread = named(
  'MessageThread',
  'A conversation: messages of one inbox that answer each other.',
  properties,
)
export type MessageThread = Type.Static<typeof MessageThread>

export const ThreadMessages = named('ThreadMessages', 'A thread with its messages.', {
  threadId: idOf('The thread that was asked for.'),
  inboxId: idOf('The inbox whose mail this is: a reply is sent from it.'),
  subject,
  isRead,
  data: Type.Array(Message, { description: 'Its messages, oldest first.' }),
})
export type ThreadMessages = Type.Static<typeof ThreadMessages>

/** Either spelling; `is_read` is the specification's. */
export const ThreadChange = named('ThreadChange', 'What of a thread becomes something else.', {
  is_read: Type.Optional(
    Type.Unsafe<boolean | null>({
      type: ['boolean', 'null'],
      description: 'true: dealt with. false: put it into the queue again.',
      examples: [true],
    }),
  ),
  isRead: Type.Optional(
    Type.Unsafe<boolean | null>({
      type: ['boolean', 'null'],
      description: 'As `is_read`, for clients that spell all names so; give one of the two.',
    }),
  ),
})
export type ThreadChange = Type.Static<typeof ThreadChange>

export const ThreadChanged = named('ThreadChanged', 'The thread is as it was asked for.', {
  ok: Type.Literal(true, { description: 'Always true; a refusal has another status.' }),
})
