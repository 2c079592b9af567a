import type { Db, WriteDb } from './dialect/dialect.ts'
import { putRow } from './dialect/insert.ts'
import type { GreylistEntryRow } from './tables.ts'

/** What stands in these slots and is not over, whoever's it is. */
export async function listGreylistEntries(
  db: Db,
  { first, count }: { readonly first: number; readonly count: number },
  now: string,
): Promise<GreylistEntryRow[]> {
  return db
    .selectFrom('greylistEntry')
    .selectAll()
    .where('slot', '>=', first)
    .where('slot', '<', first + count)
    .where('expiresAt', '>', now)
    .execute()
}

/** Takes the slot, whoever had it. */
export async function putGreylistEntry(db: WriteDb, row: GreylistEntryRow): Promise<void> {
  await putRow(db, 'greylistEntry', row, ['slot'])
}

/** Deletes at most `limit` entries that are over; gives how many. */
export async function deleteGreylistBefore(db: WriteDb, now: string, limit: number): Promise<number> {
  const over = db.selectFrom('greylistEntry').select('slot').where('expiresAt', '<=', now).limit(limit)
  const done = await db.deleteFrom('greylistEntry').where('slot', 'in', over).executeTakeFirst()
  return Number(done.numDeletedRows)
}
