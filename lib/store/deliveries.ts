import { sql } from 'kysely'
import type { Db, WriteDb } from './dialect/dialect.ts'
import { insertRow } from './dialect/insert.ts'
import type { AttemptRow, DeliveryRow } from './tables.ts'

export async function insertDeliveries(db: WriteDb, rows: readonly DeliveryRow[]): Promise<void> {
  for (const row of rows) await insertRow(db, 'delivery', row)
}

export async function findDelivery(db: Db, id: string): Promise<DeliveryRow | undefined> {
  return db.selectFrom('delivery').selectAll().where('id', '=', id).executeTakeFirst()
}

/** The delivery that has this reverse-path of its own (lower-case). */
export async function findDeliveryByMailFrom(db: Db, mailFrom: string): Promise<DeliveryRow | undefined> {
  return db.selectFrom('delivery').selectAll().where('mailFrom', '=', mailFrom).limit(1).executeTakeFirst()
}

/** All deliveries of a message, in the order of its recipients. */
export async function listDeliveries(db: Db, messageId: string): Promise<DeliveryRow[]> {
  return db.selectFrom('delivery').selectAll().where('messageId', '=', messageId).orderBy('id').execute()
}

export async function updateDelivery(
  db: WriteDb,
  id: string,
  changes: Partial<Omit<DeliveryRow, 'id' | 'messageId' | 'recipient' | 'createdAt'>>,
): Promise<void> {
  await db.updateTable('delivery').set(changes).where('id', '=', id).execute()
}

/**
 * What an inbox sends and has not come to its end, in the order of the messages; copies of what came to it are not among
 * them.
 * @param after of this message and later ones
 */
export async function listPendingOfInbox(
  db: Db,
  of: { readonly inboxId: string; readonly states: readonly string[]; readonly after: string },
  limit: number,
): Promise<DeliveryRow[]> {
  return (
    db
      .selectFrom('message')
      .innerJoin('delivery', 'delivery.messageId', 'message.id')
      .selectAll('delivery')
      .where('message.inboxId', '=', of.inboxId)
      // As it stands in the index, so that SQLite knows that it can use that.
      .where('message.status', '=', sql.lit('pending'))
      .where('message.id', '>=', of.after)
      .where('delivery.state', 'in', of.states)
      .orderBy('message.id')
      .orderBy('delivery.id')
      .limit(limit)
      .execute()
  )
}

/** Whether the message has a delivery that has not come to its end. */
export async function hasPendingDelivery(db: Db, messageId: string): Promise<boolean> {
  const row = await db
    .selectFrom('delivery')
    .select('id')
    .where('messageId', '=', messageId)
    .where('state', 'in', ['queued', 'deferred', 'held'])
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/** The copy that was forwarded to the same address before this one, among the `lookback` messages of the inbox before its own. */
export async function findCopyBefore(
  db: Db,
  inboxId: string,
  copy: Pick<DeliveryRow, 'messageId' | 'recipient'>,
  lookback: number,
): Promise<DeliveryRow | undefined> {
  const earlier = db
    .selectFrom('message')
    .select('id')
    .where('inboxId', '=', inboxId)
    .where('direction', '=', 'inbound')
    .where('id', '<', copy.messageId)
    .orderBy('id', 'desc')
    .limit(lookback)
  return db
    .selectFrom('delivery')
    .selectAll()
    .where('messageId', 'in', earlier)
    .where('purpose', '=', 'forward')
    .where('recipient', '=', copy.recipient)
    .orderBy('messageId', 'desc')
    .limit(1)
    .executeTakeFirst()
}

/** Whether a host has ever taken this delivery, whatever became of it then. */
export async function wasTaken(db: Db, deliveryId: string): Promise<boolean> {
  const row = await db
    .selectFrom('attempt')
    .select('id')
    .where('deliveryId', '=', deliveryId)
    .where('result', '=', 'delivered')
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

export async function insertAttempt(db: WriteDb, row: AttemptRow): Promise<void> {
  await insertRow(db, 'attempt', row)
}
