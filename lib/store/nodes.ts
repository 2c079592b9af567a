import { sql } from 'kysely'
import { type Db, dialectOf, type WriteDb } from './dialect/dialect.ts'
import { putRow } from './dialect/insert.ts'
import { nodeClass } from './dialect/lock.ts'
import { deleteReaders } from './readers.ts'
import type { NodeRow } from './tables.ts'

/** How long the lease of a node holds. */
export const nodeLeaseMs = 30_000

/** One start of a node. */
export type NodeStart = Pick<NodeRow, 'id' | 'holder'>

/** The time of a PostgreSQL server in so many milliseconds, as rows have it. */
const serverTime = (inMs: number) => sql<string>`to_char(
  (clock_timestamp() + ${inMs}::integer * interval '1 millisecond') at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`

/** Until when a lease holds that begins now; null on SQLite, where a node has no other beside it. */
const leaseEnd = (db: Db) => (dialectOf(db) === 'sqlite' ? sql<string | null>`null` : serverTime(nodeLeaseMs))

async function findNode(db: Db, id: string): Promise<NodeRow | undefined> {
  return db.selectFrom('node').selectAll().where('id', '=', id).executeTakeFirst()
}

export interface ListedNode extends NodeRow {
  /** Whether its lease has ended by the clock of the server. */
  readonly isLate: boolean
}

/** Returns all nodes, in the order of their names. */
export async function listNodes(db: Db): Promise<ListedNode[]> {
  const isAlone = dialectOf(db) === 'sqlite'
  const now = isAlone ? sql<string>`''` : serverTime(0)
  const rows = await db
    .selectFrom('node')
    .selectAll()
    .select(now.as('serverNow'))
    .orderBy('name')
    .orderBy('id')
    .execute()
  return rows.map(({ serverNow, ...row }) => ({
    ...row,
    // A row that came from SQLite has no lease.
    isLate: !isAlone && (row.leasedUntil ?? '') <= serverNow,
  }))
}

/** Writes that a node starts, whether it was known or not: its lease begins, and what it held before is over. */
export async function startNode(db: WriteDb, row: Omit<NodeRow, 'state' | 'leasedUntil'>): Promise<void> {
  const before = await findNode(db, row.id)
  if (before) await deleteReaders(db, before.holder)
  await putRow(db, 'node', { ...row, state: 'up', leasedUntil: null }, ['id'])
  await db
    .updateTable('node')
    .set({ leasedUntil: leaseEnd(db) })
    .where('id', '=', row.id)
    .execute()
  // A file has one daemon at a time: rows of others came with a copy of the database.
  if (dialectOf(db) === 'sqlite')
    await db
      .updateTable('node')
      .set({ state: 'gone' })
      .where('id', '!=', row.id)
      .where('state', '=', 'up')
      .execute()
}

/** Renews the lease of a node; returns false, and does nothing, if others have taken over what it held. */
export async function renewNode(db: WriteDb, { id, holder }: NodeStart): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('node')
    .set({ leasedUntil: leaseEnd(db) })
    .where('id', '=', id)
    .where('holder', '=', holder)
    .where('state', '=', 'up')
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Ends a node that stops; does nothing if others have taken over what it held. */
export async function stopNode(db: WriteDb, { id, holder }: NodeStart): Promise<void> {
  await end(db, { id, holder }, 'stopped')
}

async function end(db: WriteDb, { id, holder }: NodeStart, state: 'stopped' | 'gone'): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('node')
    .set({ state })
    .where('id', '=', id)
    .where('holder', '=', holder)
    .where('state', '=', 'up')
    .$if(state === 'gone', update =>
      update.where(eb => eb.fn.coalesce('leasedUntil', sql.lit('')), '<=', serverTime(0)),
    )
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/**
 * Ends a node whose lease is over and whose lock nobody has, on PostgreSQL. Until the commit this transaction has the lock, so the
 * node does not come back meanwhile.
 * @returns false, with nothing done, if it lives
 */
export async function endGoneNode(db: WriteDb, { id, holder }: NodeStart): Promise<boolean> {
  const { rows } = await sql<{ isFree: boolean }>`
    select pg_try_advisory_xact_lock(${sql.lit(nodeClass)}, hashtext(${id})) as "isFree"`.execute(db)
  if (!rows[0]!.isFree || !(await end(db, { id, holder }, 'gone'))) return false
  await deleteReaders(db, holder)
  return true
}

/** Has a node lease nothing more, or go on; returns whether there is one that is up. */
export async function setDraining(db: WriteDb, id: string, isDraining: boolean): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('node')
    .set({ isDraining: isDraining ? 1 : 0 })
    .where('id', '=', id)
    .where('state', '=', 'up')
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Forgets nodes that ended and started before `before`, at most `limit`; returns how many. */
export async function deleteNodesBefore(db: WriteDb, before: string, limit: number): Promise<number> {
  const old = db
    .selectFrom('node')
    .select('id')
    .where('state', '!=', 'up')
    .where(eb => eb.fn.coalesce('leasedUntil', 'startedAt'), '<', before)
    .limit(limit)
  const { numDeletedRows } = await db.deleteFrom('node').where('id', 'in', old).executeTakeFirst()
  return Number(numDeletedRows)
}
