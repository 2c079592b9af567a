import { sql } from 'kysely'
import type { WriteDb } from './dialect/dialect.ts'

/** A column with the instant that a row waits for. */
interface Waiting {
  readonly table: string
  readonly key: string
  readonly column: string
  /** Which rows wait for a time that passes, and not for an hour that somebody named, or the end of a lease. */
  readonly of?: string
}

export const waitingColumns: readonly Waiting[] = [
  { table: 'queueEntry', key: 'id', column: 'dueAt', of: `"leasedBy" is null and "kind" <> 'draft'` },
  { table: 'destination', key: 'name', column: 'retryAt' },
  { table: 'domain', key: 'id', column: 'nextCheckAt' },
]

/**
 * Makes some rows wait for an instant that is `byMs` earlier: those that wait for one after `now`, in the order of their keys, from
 * behind `after`. Gives the last key, or undefined when there are no more.
 */
export async function setBackSome(
  db: WriteDb,
  { table, key, column, of = 'true' }: Waiting,
  { byMs, now, after, limit }: { byMs: number; now: string; after: string; limit: number },
): Promise<string | undefined> {
  const [from, id, at] = [sql.table(table), sql.ref(key), sql.ref(column)]
  const { rows } = await sql<{ id: string; at: string }>`
    select ${id} as "id", ${at} as "at" from ${from}
    where ${id} > ${after} and ${at} > ${now} and ${sql.raw(of)} order by ${id} limit ${limit}`.execute(db)
  for (const row of rows) {
    const earlier = new Date(Date.parse(row.at) - byMs).toISOString()
    await sql`update ${from} set ${at} = ${earlier} where ${id} = ${row.id} and ${at} = ${row.at}`.execute(db)
  }
  return rows.at(-1)?.id
}
