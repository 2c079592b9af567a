import type { Db } from '../../store/dialect/dialect.ts'
import { findInbox } from '../../store/inboxes.ts'
import type { MessageRow } from '../../store/tables.ts'
import type { EventSubject } from '../events/record.ts'

/** What an event about a message is about. */
export async function findEventSubject(db: Db, message: MessageRow): Promise<EventSubject> {
  return eventSubject(message, (await findInbox(db, message.inboxId))?.podId)
}

/** The same where it is known in which pod its inbox is. */
export function eventSubject(
  message: Pick<MessageRow, 'id' | 'inboxId' | 'threadId'>,
  podId: string | undefined,
): EventSubject {
  return {
    podId: podId ?? null,
    inboxId: message.inboxId,
    threadId: message.threadId,
    messageId: message.id,
  }
}
