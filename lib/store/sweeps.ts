import type { WriteDb } from './dialect/dialect.ts'
import { insertRowOnce } from './dialect/insert.ts'
import type { SweepRow } from './tables.ts'

/** Rows that one write of a sweep deletes at the most. */
export const sweepRows = 200

/** Takes a sweep for a node, if no other that is up has it; returns whether the node has it now. */
export async function takeSweep(db: WriteDb, { name, heldBy }: SweepRow): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('sweep')
    .set({ heldBy })
    .where('name', '=', name)
    .where(eb =>
      eb.or([
        eb('heldBy', 'is', null),
        eb('heldBy', '=', heldBy),
        eb('heldBy', 'not in', eb.selectFrom('node').select('holder').where('state', '=', 'up')),
      ]),
    )
    .executeTakeFirst()
  return numUpdatedRows > 0n || insertRowOnce(db, 'sweep', { name, heldBy }, ['name'])
}

/** Ends a sweep, unless another node has it now. */
export async function endSweep(db: WriteDb, name: string, heldBy: string): Promise<void> {
  await db
    .updateTable('sweep')
    .set({ heldBy: null })
    .where('name', '=', name)
    .where('heldBy', '=', heldBy)
    .execute()
}
