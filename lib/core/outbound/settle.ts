import { hasPendingDelivery, listDeliveries } from '../../store/deliveries.ts'
import type { Db, WriteDb } from '../../store/dialect/dialect.ts'
import { findInbox } from '../../store/inboxes.ts'
import { setMessageStatus } from '../../store/messages.ts'
import type { MessageRow } from '../../store/tables.ts'
import type { App } from '../app/app.ts'
import { type EventSubject, recordEvent } from '../events/record.ts'

/**
 * When the last recipient of a message has come to its end: sent if all were accepted, failed if any failed for good. A
 * bounce that comes later makes a sent message a failed one.
 */
export async function settle(app: App, db: WriteDb, message: MessageRow): Promise<void> {
  if (await hasPendingDelivery(db, message.id)) return
  const deliveries = await listDeliveries(db, message.id)
  const failed = deliveries.some(delivery => delivery.state === 'failed')
  await setMessageStatus(db, message.id, failed ? 'failed' : 'sent')
  if (!failed) await recordEvent(app, db, 'message.sent', await eventSubject(db, message))
}

/** What an event about a message is about. */
export async function eventSubject(db: Db, message: MessageRow): Promise<EventSubject> {
  const inbox = await findInbox(db, message.inboxId)
  return {
    podId: inbox?.podId ?? null,
    inboxId: message.inboxId,
    threadId: message.threadId,
    messageId: message.id,
  }
}
