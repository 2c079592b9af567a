import type { Db, WriteDb } from './dialect/dialect.ts'
import { insertRows } from './dialect/insert.ts'
import type { ContactRow } from './tables.ts'

/** Which of these addresses (lower-case) the inbox is acquainted with. */
export async function findContacts(db: Db, inboxId: string, addresses: readonly string[]): Promise<string[]> {
  const rows = await db
    .selectFrom('contact')
    .select('address')
    .where('inboxId', '=', inboxId)
    .where('address', 'in', addresses)
    .execute()
  return rows.map(row => row.address)
}

/** Makes the inbox acquainted with these addresses. */
export async function putContacts(
  db: WriteDb,
  inboxId: string,
  addresses: readonly string[],
  createdAt: string,
): Promise<void> {
  await insertContacts(
    db,
    addresses.map(address => ({ inboxId, address, createdAt })),
  )
}

/** The same for several inboxes. */
export async function insertContacts(db: WriteDb, rows: readonly ContactRow[]): Promise<void> {
  await insertRows(db, 'contact', rows, ['inboxId', 'address'])
}

/** Of a deleted inbox, at most `limit`; gives how many. */
export async function deleteContacts(db: WriteDb, inboxId: string, limit: number): Promise<number> {
  const some = db.selectFrom('contact').select('address').where('inboxId', '=', inboxId).limit(limit)
  const done = await db
    .deleteFrom('contact')
    .where('inboxId', '=', inboxId)
    .where('address', 'in', some)
    .executeTakeFirst()
  return Number(done.numDeletedRows)
}
