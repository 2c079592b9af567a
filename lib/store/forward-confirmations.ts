import type { Db, WriteDb } from './dialect/dialect.ts'
import { insertRow } from './dialect/insert.ts'
import type { ForwardConfirmationRow } from './tables.ts'

export async function insertForwardConfirmation(db: WriteDb, row: ForwardConfirmationRow): Promise<void> {
  await insertRow(db, 'forwardConfirmation', row)
}

export async function findForwardConfirmation(
  db: Db,
  id: string,
): Promise<ForwardConfirmationRow | undefined> {
  return db.selectFrom('forwardConfirmation').selectAll().where('id', '=', id).executeTakeFirst()
}

/** The id of the last question that was asked for an inbox: the one whose link is good. */
export async function findLastForwardConfirmationId(db: Db, inboxId: string): Promise<string | undefined> {
  const row = await db
    .selectFrom('forwardConfirmation')
    .select('id')
    .where('inboxId', '=', inboxId)
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row?.id
}

/** When this address was asked last, for whatever inbox. */
export async function findLastAskedAt(db: Db, address: string): Promise<string | undefined> {
  const row = await db
    .selectFrom('forwardConfirmation')
    .select('createdAt')
    .where('address', '=', address)
    .orderBy('createdAt', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row?.createdAt
}

/** When the newest questions after an instant were asked, newest first, at most `limit`; for inboxes of a pod, or all. */
export async function listAskedAfter(
  db: Db,
  { after, podId }: { readonly after: string; readonly podId: string | null },
  limit: number,
): Promise<string[]> {
  let asked = db.selectFrom('forwardConfirmation').where('forwardConfirmation.createdAt', '>', after)
  if (podId !== null) {
    asked = asked.where(eb =>
      eb.exists(
        eb
          .selectFrom('inbox')
          .select('inbox.id')
          .whereRef('inbox.id', '=', 'forwardConfirmation.inboxId')
          .where('inbox.podId', '=', podId),
      ),
    )
  }
  const rows = await asked
    .select('forwardConfirmation.createdAt')
    .orderBy('forwardConfirmation.createdAt', 'desc')
    .limit(limit)
    .execute()
  return rows.map(row => row.createdAt)
}

export async function setForwardConfirmationUsed(db: WriteDb, id: string, usedAt: string): Promise<void> {
  await db.updateTable('forwardConfirmation').set({ usedAt }).where('id', '=', id).execute()
}

/** Deletes at most `limit` that were asked before an instant; of one inbox, or of all. Gives how many. */
export async function deleteForwardConfirmations(
  db: WriteDb,
  of: { before: string; inboxId?: string },
  limit: number,
): Promise<number> {
  let some = db.selectFrom('forwardConfirmation').select('id').where('createdAt', '<', of.before)
  if (of.inboxId !== undefined) some = some.where('inboxId', '=', of.inboxId)
  const done = await db
    .deleteFrom('forwardConfirmation')
    .where('id', 'in', some.limit(limit))
    .executeTakeFirst()
  return Number(done.numDeletedRows)
}
