import type { Db, WriteDb } from './dialect/dialect.ts'
import { insertMissingRows, insertRows } from './dialect/insert.ts'
import { prepared } from './dialect/prepared.ts'
import type { ContactRow } from './tables.ts'

/** Which of these addresses (lower-case) the inbox is acquainted with. */
export async function findContacts(db: Db, inboxId: string, addresses: readonly string[]): Promise<string[]> {
  return (await knownOf(db, { inboxId }, addresses)).map(row => row.address)
}
const knownOf = prepared((db, { inboxId }: { inboxId: string }, addresses = []) =>
  db.selectFrom('contact').select('address').where('inboxId', '=', inboxId).where('address', 'in', addresses),
).rows

/** Makes the inbox acquainted with these addresses (lower-case); gives those that it was not acquainted with. */
export async function putContacts(
  db: WriteDb,
  inboxId: string,
  addresses: readonly string[],
  createdAt: string,
): Promise<string[]> {
  const rows = addresses.map(address => ({ inboxId, address, createdAt }))
  return (await insertMissingRows(db, 'contact', rows, ['inboxId', 'address'])).map(row => row.address)
}

/** Makes several inboxes acquainted with addresses. */
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
