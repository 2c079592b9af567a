import { sql } from 'kysely'
import type { Db } from '../dialect/dialect.ts'
import type { Value } from '../dialect/prepared.ts'
import type { MovedTable } from './moved-tables.ts'

/** What is read at once of a table that is moved to another database. */
export const movedPageRows = 1_000
export const movedPageBytes = 4 * 1024 * 1024

export type MovedRow = Readonly<Record<string, Value>>

/** Columns in a statement. */
export const listOf = (columns: readonly string[]) => sql.join(columns.map(column => sql.ref(column)))
/** The values of these columns, in brackets. */
export const valuesOf = (row: MovedRow, columns: readonly string[]) =>
  sql`(${sql.join(columns.map(column => row[column]))})`

/** The rows of a table in the order of their keys, in pages of about `movedPageBytes` and at most `movedPageRows`; one row at least. */
export async function* pagesOf(
  db: Db,
  { name, keys, long, columns }: MovedTable,
): AsyncGenerator<readonly MovedRow[]> {
  const table = sql.table(name)
  const order = listOf(keys)
  const sizes = long.map(column => sql`coalesce(octet_length(${sql.ref(column)}), 0)`)
  const bytes = sizes.length > 0 ? sql.join(sizes, sql` + `) : sql`0`
  let after = sql`true`
  for (;;) {
    const { rows: heads } = await sql<MovedRow & { movedBytes: number }>`
      select ${order}, ${bytes} as "movedBytes" from ${table} where ${after} order by ${order}
      limit ${movedPageRows}`.execute(db)
    let sum = 0
    const end = heads.findIndex((head, at) => {
      sum += head.movedBytes
      return at > 0 && sum > movedPageBytes
    })
    const last = heads.at(end === -1 ? -1 : end - 1)
    if (last === undefined) return
    const { rows } = await sql<MovedRow>`
      select ${listOf(columns)} from ${table} where ${after} and (${order}) <= ${valuesOf(last, keys)}
      order by ${order}`.execute(db)
    yield rows
    after = sql`(${order}) > ${valuesOf(last, keys)}`
  }
}
