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

/** The nodes that have a reader who takes an event of this type and inbox. */
export async function listReadersOf(
  db: Db,
  event: { readonly podId: string | null; readonly inboxId: string | null; readonly type: string },
): Promise<string[]> {
  const podId = event.podId ?? ''
  const inboxId = event.inboxId ?? ''
  const rows = await db
    .selectFrom('reader')
    .select('holder')
    .distinct()
    .where('type', 'in', ['', event.type])
    .where('inboxId', 'in', ['', inboxId])
    .where(eb => eb.or([eb('inboxId', '!=', ''), eb('podId', 'in', ['', podId])]))
    .execute()
  return rows.map(({ holder }) => holder)
}
