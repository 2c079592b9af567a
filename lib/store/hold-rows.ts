import { sql } from 'kysely'
import { dialectOf, type WriteDb } from './dialect/dialect.ts'
import type { Held } from './dialect/held.ts'

/**
 * Locks rows of inboxes and messages until the end of a write, as `Held` does at its beginning: for a write that knows only now which.
 * What it decides by must be read after this.
 */
export async function holdRows(
  db: WriteDb,
  { inboxes = [], messages = [] }: Pick<Held, 'inboxes' | 'messages'>,
): Promise<void> {
  if (dialectOf(db) === 'sqlite') return
  for (const [table, ids] of [['inbox', inboxes] as const, ['message', messages] as const]) {
    if (ids.length === 0) continue
    await sql`select 1 from ${sql.table(table)} where "id" = any(${ids}::text[]) order by "id" for no key update`.execute(
      db,
    )
  }
}
