import type { ExpressionBuilder } from 'kysely'
import { firstIdAt } from '../base/ids.ts'
import type { Db, WriteDb } from './dialect/dialect.ts'
import { addToInbox, kibOf } from './inboxes.ts'
import { deleteUnusedRaw } from './raws.ts'
import { unindexMessages } from './search/full-text.ts'
import type { MessageRow, Tables, ThreadRow } from './tables.ts'
import { findThread } from './threads.ts'

/** What of a message its deletion needs. */
export type Deletable = Pick<MessageRow, 'id' | 'direction' | 'rawId'>

/** Some messages of a thread, at most `limit`. */
export async function listDeletableMessages(db: Db, threadId: string, limit: number): Promise<Deletable[]> {
  return db
    .selectFrom('message')
    .select(['id', 'direction', 'rawId'])
    .where('threadId', '=', threadId)
    .orderBy('id')
    .limit(limit)
    .execute()
}

/**
 * Deletes messages of one thread with all that is theirs alone; the thread goes with its last message, and the counters
 * of both and of the inbox follow. Gives the raws that went, whose files are to be removed after the commit.
 */
export async function deleteFromThread(
  db: WriteDb,
  thread: ThreadRow,
  messages: readonly Deletable[],
): Promise<string[]> {
  const ids = messages.map(message => message.id)
  const storedKiB = await sumKiB(db, messages)
  if (ids.length > 0) await deleteMessages(db, ids)
  const inbound = messages.filter(message => message.direction === 'inbound').length
  const newest = await db
    .selectFrom('message')
    .select('createdAt')
    .where('threadId', '=', thread.id)
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
  if (newest) {
    await db
      .updateTable('thread')
      .set(eb => ({ messageCount: eb('messageCount', '-', ids.length), lastMessageAt: newest.createdAt }))
      .where('id', '=', thread.id)
      .execute()
  } else {
    await db.deleteFrom('thread').where('id', '=', thread.id).execute()
  }
  await addToInbox(db, thread.inboxId, {
    inbound: -inbound,
    outbound: inbound - ids.length,
    threads: newest ? 0 : -1,
    unreadThreads: newest || thread.isRead ? 0 : -1,
    storedKiB: -storedKiB,
  })
  const gone: string[] = []
  for (const { rawId } of messages) {
    if (rawId !== null && (await deleteUnusedRaw(db, rawId))) gone.push(rawId)
  }
  return gone
}

/** The size of the raws of these messages, as the inbox counts it. */
async function sumKiB(db: Db, messages: readonly Deletable[]): Promise<number> {
  const ids = messages.flatMap(({ rawId }) => rawId ?? [])
  if (ids.length === 0) return 0
  const raws = await db.selectFrom('raw').select('sizeBytes').where('id', 'in', ids).execute()
  return raws.reduce((sum, { sizeBytes }) => sum + kibOf(sizeBytes), 0)
}

/** Messages of an inbox that came or were sent before an instant, all or of one category. */
export interface Expired {
  readonly inboxId: string
  readonly before: string
  readonly category?: string
}

/** The oldest of them. What is on its way out is none of them. */
export async function listExpired(
  db: Db,
  expired: Expired,
  limit: number,
): Promise<(Deletable & Pick<MessageRow, 'threadId'>)[]> {
  return expiredMessages(db, expired)
    .select(['id', 'direction', 'rawId', 'threadId'])
    .orderBy('id')
    .limit(limit)
    .execute()
}

export async function countExpired(db: Db, expired: Expired): Promise<number> {
  const { count } = await expiredMessages(db, expired)
    .select(eb => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return Number(count)
}

function expiredMessages(db: Db, { inboxId, before, category }: Expired) {
  const query = db
    .selectFrom('message')
    .where('inboxId', '=', inboxId)
    .where('id', '<', firstIdAt(before))
    .where('status', '<>', 'pending')
  return category === undefined ? query : query.where('category', '=', category)
}

/** Deletes messages of one inbox or several, as `deleteFromThread`. */
export async function deleteFromThreads(
  db: WriteDb,
  messages: readonly (Deletable & Pick<MessageRow, 'threadId'>)[],
): Promise<string[]> {
  const gone: string[] = []
  for (const [threadId, own] of Map.groupBy(messages, message => message.threadId)) {
    const thread = await findThread(db, threadId)
    if (!thread) throw new Error(`thread ${threadId} of messages is not there`)
    gone.push(...(await deleteFromThread(db, thread, own)))
  }
  return gone
}

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

export async function setInboxPurged(db: WriteDb, inboxId: string, purgedAt: string): Promise<void> {
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

/** Messages with their deliveries, attempts, queue entries, what they are found by, and what they say where no other message says it. */
export async function deleteMessages(db: WriteDb, ids: readonly string[]): Promise<void> {
  const deliveries = db.selectFrom('delivery').select('id').where('messageId', 'in', ids)
  await db.deleteFrom('queueEntry').where('subjectId', 'in', deliveries).execute()
  await db.deleteFrom('attempt').where('deliveryId', 'in', deliveries).execute()
  await db.deleteFrom('delivery').where('messageId', 'in', ids).execute()
  // First what is still to be indexed: who indexes one of these now has ended when it is gone (`stillUnindexed`).
  await db.deleteFrom('unindexedBody').where('messageId', 'in', ids).execute()
  await unindexMessages(db, ids)
  const readings = await db.selectFrom('message').select('readingId').where('id', 'in', ids).execute()
  await db.deleteFrom('message').where('id', 'in', ids).execute()
  await deleteUnusedReadings(
    db,
    readings.map(({ readingId }) => readingId),
  )
}

/** Deletes those of these that no message has any more. */
async function deleteUnusedReadings(db: WriteDb, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  const isUsed = (eb: ExpressionBuilder<Tables, 'reading'>) =>
    eb.exists(eb.selectFrom('message').select('message.id').whereRef('message.readingId', '=', 'reading.id'))
  const unused = db
    .selectFrom('reading')
    .select('id')
    .where('id', 'in', ids)
    .where(eb => eb.not(isUsed(eb)))
  await db.deleteFrom('attachmentText').where('readingId', 'in', unused).execute()
  await db.deleteFrom('reading').where('id', 'in', unused).execute()
}

export async function deleteThreads(db: WriteDb, inboxId: string, limit: number): Promise<number> {
  const some = db.selectFrom('thread').select('id').where('inboxId', '=', inboxId).limit(limit)
  const done = await db.deleteFrom('thread').where('id', 'in', some).executeTakeFirst()
  return Number(done.numDeletedRows)
}
