import type { Db, WriteDb } from './dialect/dialect.ts'
import { putRow } from './dialect/insert.ts'
import { prepared } from './dialect/prepared.ts'
import type { DestinationRow } from './tables.ts'

export async function findDestination(db: Db, name: string): Promise<DestinationRow | undefined> {
  return byName(db, { name })
}
const byName = prepared((db, { name }: { name: string }) =>
  db.selectFrom('destination').selectAll().where('name', '=', name),
).row

export async function listDestinations(db: Db, names: readonly string[]): Promise<DestinationRow[]> {
  return byNames(db, {}, names)
}
const byNames = prepared((db, _given, names = []) =>
  db.selectFrom('destination').selectAll().where('name', 'in', names),
).rows

/** Writes how a destination fails, whether it failed before or not. */
export async function putDestination(db: WriteDb, row: DestinationRow): Promise<void> {
  await putRow(db, 'destination', row, ['name'])
}

/** Returns whether there was one. */
export async function deleteDestination(db: WriteDb, name: string): Promise<boolean> {
  return (await removeByName(db, { name })) > 0
}
const removeByName = prepared((db, { name }: { name: string }) =>
  db.deleteFrom('destination').where('name', '=', name),
).change

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
