import Type from 'typebox'
import { Id, Instant, nullableText, shape } from './shape.ts'

export const EventRecord = shape(
  {
    id: Id,
    type: Type.String({ description: 'Such as message.received.', examples: ['message.received'] }),
    podId: nullableText(),
    inboxId: nullableText(),
    threadId: nullableText(),
    messageId: nullableText(),
    payload: Type.Unsafe<Record<string, unknown>>({
      type: 'object',
      description: 'What else is told, by type.',
    }),
    createdAt: Instant,
  },
  { description: 'Something that happened.' },
)
export type EventRecord = Type.Static<typeof EventRecord>
