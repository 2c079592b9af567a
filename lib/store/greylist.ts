import type { Db, WriteDb } from './dialect/dialect.ts'
import { putRow } from './dialect/insert.ts'
import type { GreylistEntryRow } from './tables.ts'

/** The entry of this key, unless it is over, or another key has taken its slot. */
export async function findGreylistEntry(
  db: Db,
  { slot, key }: Pick<GreylistEntryRow, 'slot' | 'key'>,
  now: string,
): Promise<GreylistEntryRow | undefined> {
  return db
    .selectFrom('greylistEntry')
    .selectAll()
    .where('slot', '=', slot)
    .where('key', '=', key)
    .where('expiresAt', '>', now)
    .executeTakeFirst()
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
