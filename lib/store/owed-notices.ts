import type { Db, WriteDb } from './dialect/dialect.ts'
import type { DeliveryRow } from './tables.ts'

/** What is known of the notices of a message: of each delivery of which something may be told. */
export type NoticeState = Pick<DeliveryRow, 'id' | 'state' | 'notify' | 'noticeAt'>

export async function listNoticeStates(db: Db, messageId: string): Promise<NoticeState[]> {
  return db
    .selectFrom('delivery')
    .select(['id', 'state', 'notify', 'noticeAt'])
    .where('messageId', '=', messageId)
    .where('notify', 'is not', null)
    .execute()
}

/** Messages with something to tell at this time, those that have waited longest. */
export async function listMessagesToTellOf(db: Db, now: string, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom('delivery')
    .select('messageId')
    .where('noticeAt', '<=', now)
    .orderBy('noticeAt')
    .limit(limit)
    .execute()
  return [...new Set(rows.map(({ messageId }) => messageId))]
}

/** The deliveries of a message of which something is to be told. */
export async function listOwedNotices(db: Db, messageId: string): Promise<DeliveryRow[]> {
  return db
    .selectFrom('delivery')
    .selectAll()
    .where('messageId', '=', messageId)
    .where('noticeAt', 'is not', null)
    .orderBy('id')
    .execute()
}

/** Notes that it is told, or when it is to be; gives false when something else became of it meanwhile. */
export async function settleOwedNotice(
  db: WriteDb,
  { id, notify: known }: Pick<DeliveryRow, 'id' | 'notify'>,
  changes: Pick<DeliveryRow, 'notify' | 'noticeAt'>,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('delivery')
    .set(changes)
    .where('id', '=', id)
    .where('notify', '=', known)
    .where('noticeAt', 'is not', null)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}
