import type { Db, WriteDb } from './dialect/dialect.ts'
import { insertRowOnce } from './dialect/insert.ts'
import { keptRow } from './dialect/kept.ts'
import type { IdempotencyRow } from './tables.ts'

export async function findIdempotency(
  db: Db,
  inboxId: string,
  key: string,
): Promise<IdempotencyRow | undefined> {
  return recordOf(db, { inboxId, key })
}
const recordOf = keptRow((db, given: { inboxId: string; key: string }) =>
  db.selectFrom('idempotency').selectAll().where('inboxId', '=', given.inboxId).where('key', '=', given.key),
)

/** Whether this key was used after `since` on another inbox: of the account, or of one pod. */
export async function isKeyUsedElsewhere(
  db: Db,
  key: string,
  { inboxId, podId, since }: { inboxId: string; podId: string | null; since: string },
): Promise<boolean> {
  let query = db
    .selectFrom('idempotency')
    .select('inboxId')
    .where('key', '=', key)
    .where('inboxId', '!=', inboxId)
    .where('createdAt', '>', since)
  if (podId !== null) query = query.where('podId', '=', podId)
  return (await query.limit(1).executeTakeFirst()) !== undefined
}

/** Takes the place of a record of the same inbox and key that is no younger than `since`. Gives false where one is younger. */
export async function insertIdempotency(db: WriteDb, row: IdempotencyRow, since: string): Promise<boolean> {
  await db
    .deleteFrom('idempotency')
    .where('inboxId', '=', row.inboxId)
    .where('key', '=', row.key)
    .where('createdAt', '<=', since)
    .execute()
  return insertRowOnce(db, 'idempotency', row, ['inboxId', 'key'])
}

/** Deletes at most `limit` records older than `before`; gives how many. */
export async function deleteIdempotencyBefore(db: WriteDb, before: string, limit: number): Promise<number> {
  const expired = await db
    .selectFrom('idempotency')
    .select(['inboxId', 'key'])
    .where('createdAt', '<', before)
    .limit(limit)
    .execute()
  for (const { inboxId, key } of expired) {
    await db.deleteFrom('idempotency').where('inboxId', '=', inboxId).where('key', '=', key).execute()
  }
  return expired.length
}
