import type { Listed, Page } from '../model/page.ts'
import { addToAccount } from './account.ts'
import type { Db } from './dialect.ts'
import { insertRow } from './insert.ts'
import type { InboxRow } from './tables.ts'

export async function insertInbox(db: Db, row: InboxRow): Promise<void> {
  await insertRow(db, 'inbox', row)
  await addInboxes(db, row.podId, 1)
}

async function addInboxes(db: Db, podId: string, count: number): Promise<void> {
  await addToAccount(db, { inboxes: count })
  await db
    .updateTable('pod')
    .set(eb => ({ inboxCount: eb('inboxCount', '+', count) }))
    .where('id', '=', podId)
    .execute()
}

/** A deleted inbox is not found. */
export async function findInbox(db: Db, id: string): Promise<InboxRow | undefined> {
  return db
    .selectFrom('inbox')
    .selectAll()
    .where('id', '=', id)
    .where('deletedAt', 'is', null)
    .executeTakeFirst()
}

/** @param address lower-case. A deleted inbox is not found. */
export async function findInboxByAddress(db: Db, address: string): Promise<InboxRow | undefined> {
  return db
    .selectFrom('inbox')
    .selectAll()
    .where('address', '=', address)
    .where('deletedAt', 'is', null)
    .executeTakeFirst()
}

/** Whether an inbox has or ever had this address (lower-case). */
export async function isAddressUsed(db: Db, address: string): Promise<boolean> {
  const row = await db.selectFrom('inbox').select('id').where('address', '=', address).executeTakeFirst()
  return row !== undefined
}

/** Newest first; of the account, or of one pod. */
export async function listInboxes(
  db: Db,
  within: { podId: string | null },
  page: Page,
): Promise<Listed<InboxRow>> {
  let query = db.selectFrom('inbox').selectAll().where('deletedAt', 'is', null)
  if (within.podId !== null) query = query.where('podId', '=', within.podId)
  const rows = await query.orderBy('id', 'desc').limit(page.limit).offset(page.offset).execute()
  const count =
    within.podId === null
      ? await db.selectFrom('account').select('inboxCount').executeTakeFirst()
      : await db.selectFrom('pod').select('inboxCount').where('id', '=', within.podId).executeTakeFirst()
  return { rows, total: count?.inboxCount ?? 0 }
}

export async function updateInbox(
  db: Db,
  id: string,
  changes: Partial<Pick<InboxRow, 'displayName'>>,
): Promise<void> {
  await db.updateTable('inbox').set(changes).where('id', '=', id).execute()
}

/** Marks the inbox deleted; its address stays taken for ever. */
export async function deleteInbox(db: Db, inbox: InboxRow, deletedAt: string): Promise<void> {
  await db.updateTable('inbox').set({ deletedAt }).where('id', '=', inbox.id).execute()
  await addInboxes(db, inbox.podId, -1)
}

/** The deleted inboxes of a pod that goes, too: their rows stay for ever, and some pod must hold them. */
export async function moveDeletedInboxes(db: Db, fromPodId: string, toPodId: string): Promise<void> {
  await db
    .updateTable('inbox')
    .set({ podId: toPodId })
    .where('podId', '=', fromPodId)
    .where('deletedAt', 'is not', null)
    .execute()
}

/** What a message or a thread adds to the counters that answer `total`. */
export interface InboxCounts {
  readonly inbound?: number
  readonly outbound?: number
  readonly threads?: number
  readonly unreadThreads?: number
}

export async function addToInbox(db: Db, id: string, added: InboxCounts): Promise<void> {
  await db
    .updateTable('inbox')
    .set(eb => ({
      inboundCount: eb('inboundCount', '+', added.inbound ?? 0),
      outboundCount: eb('outboundCount', '+', added.outbound ?? 0),
      threadCount: eb('threadCount', '+', added.threads ?? 0),
      unreadThreadCount: eb('unreadThreadCount', '+', added.unreadThreads ?? 0),
    }))
    .where('id', '=', id)
    .execute()
}
