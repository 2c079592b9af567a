import type { Db, WriteDb } from './dialect/dialect.ts'
import { putRow } from './dialect/insert.ts'
import { keptChange, keptRow, keptRowsOf } from './dialect/kept.ts'
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

/** Writes how a destination fails, whether it failed before or not. */
export async function putDestination(db: WriteDb, row: DestinationRow): Promise<void> {
  await putRow(db, 'destination', row, ['name'])
}

/** Returns whether there was one. */
export async function deleteDestination(db: WriteDb, name: string): Promise<boolean> {
  return (await removeByName(db, { name })) > 0
}
const removeByName = keptChange((db, { name }: { name: string }) =>
  db.deleteFrom('destination').where('name', '=', name),
)

/** Some of the destinations whose last failure was this. */
export function listDestinationsThatSaid(db: Db, said: string, limit: number): Promise<DestinationRow[]> {
  return db.selectFrom('destination').selectAll().where('lastFailure', '=', said).limit(limit).execute()
}

/** Forgets what was last seen of a destination before `before`; gives how many. */
export async function deleteDestinationsBefore(db: WriteDb, before: string, limit: number): Promise<number> {
  const old = db
    .selectFrom('destination')
    .select('name')
    .where('updatedAt', '<', before)
    .orderBy('updatedAt')
    .limit(limit)
  const done = await db.deleteFrom('destination').where('name', 'in', old).executeTakeFirst()
  return Number(done.numDeletedRows)
}
