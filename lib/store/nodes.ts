import type { Db, WriteDb } from './dialect/dialect.ts'
import { putRow } from './dialect/insert.ts'
import type { NodeRow } from './tables.ts'

/** One start of a node. */
export type NodeStart = Pick<NodeRow, 'id' | 'generation'>

export async function findNode(db: Db, id: string): Promise<NodeRow | undefined> {
  return db.selectFrom('node').selectAll().where('id', '=', id).executeTakeFirst()
}

/** All nodes, in the order of their names. */
export async function listNodes(db: Db): Promise<NodeRow[]> {
  return db.selectFrom('node').selectAll().orderBy('name').orderBy('id').execute()
}

/** Writes a node, whether it was known or not. */
export async function putNode(db: WriteDb, row: NodeRow): Promise<void> {
  await putRow(db, 'node', row, ['id'])
}

/** It works. Gives false, and does nothing, when it is taken for gone by now, or was started again. */
export async function noteBeat(db: WriteDb, { id, generation }: NodeStart, beatAt: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('node')
    .set(eb => ({ beat: eb('beat', '+', 1), beatAt }))
    .where('id', '=', id)
    .where('generation', '=', generation)
    .where('state', '=', 'up')
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/**
 * It works no more.
 * @param beat the last that is known of it, where it is another that says so
 * @returns false, with nothing done, when it has beaten since, or ended, or was started again
 */
export async function endNode(
  db: WriteDb,
  { id, generation }: NodeStart,
  state: 'stopped' | 'gone',
  beat?: number,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('node')
    .set({ state })
    .where('id', '=', id)
    .where('generation', '=', generation)
    .where('state', '=', 'up')
    .$if(beat !== undefined, update => update.where('beat', '=', beat!))
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Has it lease nothing more, or go on; gives whether there is one that is up. */
export async function setDraining(db: WriteDb, id: string, isDraining: boolean): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('node')
    .set({ isDraining: isDraining ? 1 : 0 })
    .where('id', '=', id)
    .where('state', '=', 'up')
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Forgets nodes that ended before `before`; at most `limit`. Gives how many. */
export async function deleteNodesBefore(db: WriteDb, before: string, limit: number): Promise<number> {
  const old = db
    .selectFrom('node')
    .select('id')
    .where('state', '!=', 'up')
    .where('beatAt', '<', before)
    .limit(limit)
  const { numDeletedRows } = await db.deleteFrom('node').where('id', 'in', old).executeTakeFirst()
  return Number(numDeletedRows)
}
