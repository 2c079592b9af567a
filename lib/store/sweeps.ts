import type { Db, WriteDb } from './dialect/dialect.ts'
import { putRow } from './dialect/insert.ts'
import type { SweepRow } from './tables.ts'

/** Who does a sweep just now; undefined: nobody. */
export async function findSweeper(db: Db, name: string): Promise<string | undefined> {
  const row = await db.selectFrom('sweep').select('heldBy').where('name', '=', name).executeTakeFirst()
  return row?.heldBy ?? undefined
}

export async function putSweep(db: WriteDb, row: SweepRow): Promise<void> {
  await putRow(db, 'sweep', row, ['name'])
}

/** It is done; unless somebody else does it by now. */
export async function endSweep(db: WriteDb, name: string, heldBy: string): Promise<void> {
  await db
    .updateTable('sweep')
    .set({ heldBy: null })
    .where('name', '=', name)
    .where('heldBy', '=', heldBy)
    .execute()
}
