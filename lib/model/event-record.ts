import Type from 'typebox'
import { Id, Instant, named, nullableText } from './shape.ts'

export const EventRecord = named(
  'EventRecord',
  'Something that happened, as it is kept: a row that was written with what it tells.',
  {
    id: Id,
    type: Type.String({ description: 'Such as message.received.', examples: ['message.received'] }),
    podId: nullableText({ description: 'The pod that it happened in; null: in none.' }),
    inboxId: nullableText({ description: 'The inbox that it happened in; null: in none.' }),
    threadId: nullableText({ description: 'The thread of the message; null: it is about no message.' }),
    messageId: nullableText({ description: 'The message that it is about; null: about none.' }),
    payload: Type.Unsafe<Record<string, unknown>>({
      type: 'object',
      description: 'What else is told, by type.',
    }),
    createdAt: Instant,
  },
)
export type EventRecord = Type.Static<typeof EventRecord>
