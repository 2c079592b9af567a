import type { Db, WriteDb } from './dialect/dialect.ts'
import { insertRows } from './dialect/insert.ts'
import type { ReaderRow } from './tables.ts'

/** What readers take: '' is any. An inbox stands without its pod. */
export type ReadScope = Pick<ReaderRow, 'podId' | 'inboxId' | 'type'>

/** Writes what the readers of a node take, in the place of what they took before. */
export async function replaceReaders(
  db: WriteDb,
  holder: string,
  scopes: readonly ReadScope[],
): Promise<void> {
  await deleteReaders(db, holder)
  await insertRows(
    db,
    'reader',
    scopes.map(scope => ({ holder, ...scope })),
  )
}

export async function deleteReaders(db: WriteDb, holder: string): Promise<void> {
  await db.deleteFrom('reader').where('holder', '=', holder).execute()
}

/** Returns whether a node that is up has a reader who takes an event of this type and inbox. @param except a holder that is left out */
export async function hasReader(
  db: Db,
  event: { readonly podId: string | null; readonly inboxId: string | null; readonly type: string },
  except: string,
): Promise<boolean> {
  const podId = event.podId ?? ''
  const inboxId = event.inboxId ?? ''
  const rows = await db
    .selectFrom('reader')
    .innerJoin('node', 'node.holder', 'reader.holder')
    .select('reader.holder')
    .where('node.state', '=', 'up')
    .where('reader.holder', '!=', except)
    .where('type', 'in', ['', event.type])
    .where('inboxId', 'in', ['', inboxId])
    .where(eb => eb.or([eb('inboxId', '!=', ''), eb('podId', 'in', ['', podId])]))
    .limit(1)
    .execute()
  return rows.length > 0
}
