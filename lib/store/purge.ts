import type { Db } from './dialect.ts'
import { unindexMessages } from './search-index.ts'

/** An inbox that was deleted and whose messages may still be there. */
export async function findPurgeableInbox(db: Db): Promise<string | undefined> {
  const row = await db
    .selectFrom('inbox')
    .select('id')
    .where('deletedAt', 'is not', null)
    .where('purgedAt', 'is', null)
    .limit(1)
    .executeTakeFirst()
  return row?.id
}

export async function setInboxPurged(db: Db, inboxId: string, purgedAt: string): Promise<void> {
  await db.updateTable('inbox').set({ purgedAt }).where('id', '=', inboxId).execute()
}

export async function findDeletedInboxMessages(
  db: Db,
  inboxId: string,
  limit: number,
): Promise<{ id: string; rawId: string | null }[]> {
  return db
    .selectFrom('message')
    .select(['id', 'rawId'])
    .where('inboxId', '=', inboxId)
    .limit(limit)
    .execute()
}

/** Messages with their deliveries, attempts, queue entries and what they are found by. */
export async function deleteMessages(db: Db, ids: readonly string[]): Promise<void> {
  const deliveries = db.selectFrom('delivery').select('id').where('messageId', 'in', ids)
  await db.deleteFrom('queueEntry').where('subjectId', 'in', deliveries).execute()
  await db.deleteFrom('attempt').where('deliveryId', 'in', deliveries).execute()
  await db.deleteFrom('delivery').where('messageId', 'in', ids).execute()
  await unindexMessages(db, ids)
  await db.deleteFrom('message').where('id', 'in', ids).execute()
}

export async function deleteThreads(db: Db, inboxId: string, limit: number): Promise<number> {
  const some = db.selectFrom('thread').select('id').where('inboxId', '=', inboxId).limit(limit)
  const done = await db.deleteFrom('thread').where('id', 'in', some).executeTakeFirst()
  return Number(done.numDeletedRows)
}
