import { sql } from 'kysely'
import type { Listed, Page } from '../model/page.ts'
import type { Db, WriteDb } from './dialect/dialect.ts'
import { insertRows } from './dialect/insert.ts'
import { prepared } from './dialect/prepared.ts'
import { addToInbox } from './inboxes.ts'
import type { ThreadRow } from './tables.ts'

/** Inserts threads that are in no counter of their inbox yet. */
export async function insertUncountedThreads(db: WriteDb, rows: readonly ThreadRow[]): Promise<void> {
  await insertRows(db, 'thread', rows)
}

export function findThread(db: Db, id: string): Promise<ThreadRow | undefined> {
  return threadById(db, { id })
}
const threadById = prepared((db, given: { id: string }) =>
  db.selectFrom('thread').selectAll().where('id', '=', given.id),
).row

/** Notes to which conversation of Exchange a thread belongs. */
export async function setThreadConversation(db: WriteDb, id: string, conversation: string): Promise<void> {
  await db.updateTable('thread').set({ conversation }).where('id', '=', id).execute()
}

/** The oldest thread of this inbox that belongs to this conversation of Exchange. */
export function findThreadOfConversation(
  db: Db,
  inboxId: string,
  conversation: string,
): Promise<ThreadRow | undefined> {
  return threadOfConversation(db, { inboxId, conversation })
}
const threadOfConversation = prepared((db, given: { inboxId: string; conversation: string }) =>
  db
    .selectFrom('thread')
    .selectAll()
    .where('inboxId', '=', given.inboxId)
    .where('conversation', '=', given.conversation)
    .orderBy('id')
    .limit(1),
).row

/** A thread as lists show it, without its participants: hundreds of addresses have no place in a page of threads. */
export type ListedThreadRow = Omit<ThreadRow, 'participants' | 'conversation'>

/** Newest message first. */
export async function listThreads(
  db: Db,
  inboxId: string,
  filter: { isRead: boolean | undefined },
  page: Page,
): Promise<Listed<ListedThreadRow>> {
  // The offset is walked on the index alone; only the rows of the page are read.
  let ids = db.selectFrom('thread').select('id').where('inboxId', '=', inboxId)
  if (filter.isRead !== undefined) ids = ids.where('isRead', '=', filter.isRead ? 1 : 0)
  const rows = await db
    .selectFrom('thread')
    .select(['id', 'inboxId', 'subject', 'isRead', 'messageCount', 'lastMessageAt', 'createdAt'])
    .where(
      'id',
      'in',
      ids.orderBy('lastMessageAt', 'desc').orderBy('id', 'desc').limit(page.limit).offset(page.offset),
    )
    .orderBy('lastMessageAt', 'desc')
    .orderBy('id', 'desc')
    .execute()
  const counts = await db
    .selectFrom('inbox')
    .select(['threadCount', 'unreadThreadCount'])
    .where('id', '=', inboxId)
    .executeTakeFirst()
  const all = counts?.threadCount ?? 0
  const unread = counts?.unreadThreadCount ?? 0
  const total = filter.isRead === undefined ? all : filter.isRead ? all - unread : unread
  return { rows, total }
}

/** Adds a message to the thread: it becomes the newest, and is read or unread as `isRead` says; its inbox counts that apart. */
export async function addMessageToThread(
  db: WriteDb,
  id: string,
  { createdAt, isRead, participants }: { createdAt: string; isRead: boolean; participants: string },
): Promise<void> {
  await addNewest(db, { id, createdAt, isRead: isRead ? 1 : 0, participants })
}

/** Adds unread messages to a thread; whether it was read before, its inbox counts. */
export async function addUnreadToThread(
  db: WriteDb,
  id: string,
  added: number,
  createdAt: string,
  participants: string | null,
): Promise<void> {
  await addUnread(db, { id, added, createdAt, participants })
}
const addUnread = prepared(
  (db, given: { id: string; added: number; createdAt: string; participants: string | null }) =>
    db
      .updateTable('thread')
      .set(eb => ({
        messageCount: eb('messageCount', '+', given.added),
        lastMessageAt: given.createdAt,
        isRead: sql.lit(0),
        participants: given.participants,
      }))
      .where('id', '=', given.id),
).change
const addNewest = prepared(
  (db, given: { id: string; createdAt: string; isRead: number; participants: string }) =>
    db
      .updateTable('thread')
      .set(eb => ({
        messageCount: eb('messageCount', '+', 1),
        lastMessageAt: given.createdAt,
        isRead: given.isRead,
        participants: given.participants,
      }))
      .where('id', '=', given.id),
).change

export async function setThreadRead(db: WriteDb, thread: ThreadRow, isRead: boolean): Promise<void> {
  if ((thread.isRead === 1) === isRead) return
  await db
    .updateTable('thread')
    .set({ isRead: isRead ? 1 : 0 })
    .where('id', '=', thread.id)
    .execute()
  await addToInbox(db, thread.inboxId, { unreadThreads: isRead ? -1 : 1 })
}
