import { type RawBuilder, sql } from 'kysely'
import type { Db, WriteDb } from './dialect/dialect.ts'
import { insertWhere } from './dialect/insert.ts'
import { prepared, type Values } from './dialect/prepared.ts'
import type { IdempotencyRow } from './tables.ts'

export async function findIdempotency(
  db: Db,
  inboxId: string,
  key: string,
): Promise<IdempotencyRow | undefined> {
  return recordOf(db, { inboxId, key })
}
const recordOf = prepared((db, given: { inboxId: string; key: string }) =>
  db.selectFrom('idempotency').selectAll().where('inboxId', '=', given.inboxId).where('key', '=', given.key),
).row

/** Whether this key was used after `since` on another inbox: of the account, or of one pod. */
export async function isKeyUsedElsewhere(
  db: Db,
  key: string,
  { inboxId, podId, since }: { inboxId: string; podId: string | null; since: string },
): Promise<boolean> {
  const given = { key, inboxId, since }
  const found = podId === null ? await usedInAccount(db, given) : await usedInPod(db, { ...given, podId })
  return found !== undefined
}
type Used = { key: string; inboxId: string; since: string }
const usedElsewhere = (db: Db, { key, inboxId, since }: Used) =>
  db
    .selectFrom('idempotency')
    .select('inboxId')
    .where('key', '=', key)
    .where('inboxId', '!=', inboxId)
    .where('createdAt', '>', since)
    .limit(1)
const usedInAccount = prepared(usedElsewhere).row
const usedInPod = prepared((db, given: Used & { podId: string }) =>
  usedElsewhere(db, given).where('podId', '=', given.podId),
).row

/**
 * Inserts a record, in the place of one of the same inbox and key that is no younger than `since`.
 * @param reach where the key must not have been used since then: in the account (`podId` null), or in a pod; undefined
 * where what other inboxes did is not to be known
 * @returns false where a younger one is there, or where it was used
 */
export async function insertIdempotency(
  db: WriteDb,
  row: IdempotencyRow,
  since: string,
  reach: { readonly podId: string | null } | undefined,
): Promise<boolean> {
  const given = { ...row, since }
  if (!reach) return (await insertAnyhow(db, given)) > 0
  if (reach.podId === null) return (await insertUnlessUsed(db, given)) > 0
  return (await insertUnlessUsedInPod(db, { ...given, reach: reach.podId })) > 0
}
type Inserted = IdempotencyRow & { since: string }
const insertAnyhow = prepared((db, given: Inserted & Values) => inserting(db, given, sql`1 = 1`)).change
const insertUnlessUsed = prepared((db, given: Inserted & Values) =>
  inserting(db, given, sql`not exists ${usedElsewhere(db, given)}`),
).change
const insertUnlessUsedInPod = prepared((db, given: Inserted & Values & { reach: string }) =>
  inserting(db, given, sql`not exists ${usedElsewhere(db, given).where('podId', '=', given.reach)}`),
).change

function inserting(db: WriteDb, given: Inserted, condition: RawBuilder<unknown>) {
  const { inboxId, key, podId, requestHash, body, createdAt, since } = given
  const values = {
    inboxId,
    key,
    podId,
    requestHash,
    status: sql`cast(${given.status} as integer)`,
    body,
    createdAt,
  }
  const replaces = sql`"idempotency"."createdAt" <= ${since}`
  return insertWhere(db, 'idempotency', values, condition, { key: ['inboxId', 'key'], replaces })
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

/**
 * Writes an answer as it is: who commits it knows that what was committed before is kept as well.
 * @returns false where it is not there any more
 */
export async function touchIdempotency(
  db: WriteDb,
  { inboxId, key, createdAt }: Pick<IdempotencyRow, 'inboxId' | 'key' | 'createdAt'>,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('idempotency')
    .set({ createdAt })
    .where('inboxId', '=', inboxId)
    .where('key', '=', key)
    .where('createdAt', '=', createdAt)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}
