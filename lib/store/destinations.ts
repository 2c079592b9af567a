import { sql } from 'kysely'
import { type Db, dialectOf, type WriteDb } from './dialect/dialect.ts'
import { putRow } from './dialect/insert.ts'
import { keptChange, keptRow, keptRows, keptRowsOf } from './dialect/kept.ts'
import type { DestinationRow } from './tables.ts'

export async function findDestination(db: Db, name: string): Promise<DestinationRow | undefined> {
  return byName(db, { name })
}
const byName = keptRow((db, { name }: { name: string }) =>
  db.selectFrom('destination').selectAll().where('name', '=', name),
)

export async function listDestinations(db: Db, names: readonly string[]): Promise<DestinationRow[]> {
  return byNames(db, {}, names)
}
const byNames = keptRowsOf((db, _given, names = []) =>
  db.selectFrom('destination').selectAll().where('name', 'in', names),
)

/** The same, which nobody else changes until the end of the write. */
export function holdDestination(db: WriteDb, name: string): Promise<DestinationRow | undefined> {
  return heldByName(db, { name })
}
const heldByName = keptRow((db, { name }: { name: string }) => {
  const row = db.selectFrom('destination').selectAll().where('name', '=', name)
  return dialectOf(db) === 'postgres' ? row.forUpdate() : row
})

/** Writes the standing of a destination, whether it had one or not. */
export async function putDestination(db: WriteDb, row: DestinationRow): Promise<void> {
  await putRow(db, 'destination', row, ['name'])
}

/** Nothing is known of the destination any more, and nothing of it is parked. */
export async function deleteDestination(db: WriteDb, name: string): Promise<void> {
  await removeByName(db, { name })
}
const removeByName = keptChange((db, { name }: { name: string }) =>
  db.deleteFrom('destination').where('name', '=', name),
)

/** The destinations whose parked entries are to be looked at, the longest due first: those that fail, or the others. */
export async function listDestinationsToLookAt(
  db: Db,
  { now, isFailing }: { readonly now: string; readonly isFailing: boolean },
  limit: number,
): Promise<DestinationRow[]> {
  return toLookAt(db, { now, isFailing: isFailing ? 1 : 0, limit })
}
const toLookAt = keptRows(
  (db, { now, isFailing, limit }: { now: string; isFailing: number; limit: number }) =>
    db
      .selectFrom('destination')
      .selectAll()
      .where('isFailing', '=', isFailing)
      .where('lookAt', '<=', now)
      .orderBy('lookAt')
      .limit(limit),
)

/** Whether a destination fails whose last failure was this. */
export async function isAnyFailingFor(db: Db, said: string): Promise<boolean> {
  const failing = db.selectFrom('destination').select('name').where('isFailing', '=', 1)
  return (await failing.where('lastFailure', '=', said).limit(1).executeTakeFirst()) !== undefined
}

/** Those are due now, and what is parked there is looked at. Returns whether there were any. */
export async function hurryDestinationsThatSaid(db: WriteDb, said: string, now: string): Promise<boolean> {
  const done = await db
    .updateTable('destination')
    .set({ probeAt: now, lookAt: sql`case when "lookAt" is null then null else ${now} end` })
    .where('isFailing', '=', 1)
    .where('lastFailure', '=', said)
    .executeTakeFirst()
  return done.numUpdatedRows > 0n
}

/** Forgets what was last seen of a destination before `before` and has nothing parked; gives how many. */
export async function deleteDestinationsBefore(db: WriteDb, before: string, limit: number): Promise<number> {
  const old = db
    .selectFrom('destination')
    .select('name')
    .where('updatedAt', '<', before)
    .where('lookAt', 'is', null)
    .orderBy('updatedAt')
    .limit(limit)
  const done = await db.deleteFrom('destination').where('name', 'in', old).executeTakeFirst()
  return Number(done.numDeletedRows)
}
