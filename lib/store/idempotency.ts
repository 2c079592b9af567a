import type { Db, WriteDb } from './dialect/dialect.ts'
import { putRow } from './dialect/insert.ts'
import type { IdempotencyRow } from './tables.ts'

export async function findIdempotency(
  db: Db,
  scope: string,
  key: string,
): Promise<IdempotencyRow | undefined> {
  return db
    .selectFrom('idempotency')
    .selectAll()
    .where('scope', '=', scope)
    .where('key', '=', key)
    .executeTakeFirst()
}

/** Takes the place of an expired record of the same key. */
export async function putIdempotency(db: WriteDb, row: IdempotencyRow): Promise<void> {
  await putRow(db, 'idempotency', row, ['scope', 'key'])
}

/** Deletes at most `limit` records older than `before`; gives how many. */
export async function deleteIdempotencyBefore(db: WriteDb, before: string, limit: number): Promise<number> {
  const expired = await db
    .selectFrom('idempotency')
    .select(['scope', 'key'])
    .where('createdAt', '<', before)
    .limit(limit)
    .execute()
  for (const { scope, key } of expired) {
    await db.deleteFrom('idempotency').where('scope', '=', scope).where('key', '=', key).execute()
  }
  return expired.length
}
