import { createHash, type Hash } from 'node:crypto'
import { sql } from 'kysely'
import type { Db, WriteDb } from '../dialect/dialect.ts'
import type { Store } from '../open.ts'
import { describeTables, type MovedTable } from './moved-tables.ts'
import { areSame, compareKeys, listOf, type MovedRow, pagesOf, rowsOf, valuesOf } from './pages.ts'

/** Told of each table when it is begun, by its place among all. */
export type Told = (table: string, done: number, of: number) => void

/** What one table has. */
export interface TableDigest {
  readonly table: string
  readonly rows: number
  /** SHA-256 over all values of all rows in the order of their keys. */
  readonly sha256: string
}

/**
 * Gives `to` the rows that `from` has, and no others: what is there already and the same is left as it is, so what was cut off goes
 * on where it was, and what changed since is made good.
 * @param from as it is at one moment
 */
export async function copyRows(
  from: Db,
  to: Pick<Store, 'read' | 'write'>,
  told: Told,
): Promise<{ readonly put: number; readonly removed: number }> {
  const tables = await describeTables(from)
  let [put, removed] = [0, 0]
  // First what is there no more, from those that refer to others on: another row may have its unique name by now.
  for (const table of tables.toReversed()) removed += await removeOthers(from, to, table)
  for (const [at, table] of tables.entries()) {
    told(table.name, at, tables.length)
    put += await putMissing(from, to, table)
  }
  return { put, removed }
}

async function removeOthers(from: Db, to: Pick<Store, 'read' | 'write'>, table: MovedTable): Promise<number> {
  const { name, keys } = table
  const theirs = rowsOf(from, table, keys)
  let next = await theirs.next()
  let removed = 0
  for await (const page of pagesOf(to.read, table, keys)) {
    const others: MovedRow[] = []
    for (const row of page) {
      while (!next.done && compareKeys(keys, next.value, row) < 0) next = await theirs.next()
      if (next.done || compareKeys(keys, next.value, row) !== 0) others.push(row)
    }
    if (others.length === 0) continue
    removed += others.length
    await to.write(async db => {
      for (const row of others)
        await sql`delete from ${sql.table(name)} where (${listOf(keys)}) = ${valuesOf(row, keys)}`.execute(db)
    })
  }
  return removed
}

async function putMissing(from: Db, to: Pick<Store, 'read' | 'write'>, table: MovedTable): Promise<number> {
  const { keys, columns } = table
  const there = rowsOf(to.read, table, columns)
  let next = await there.next()
  let put = 0
  for await (const page of pagesOf(from, table, columns)) {
    const missing: MovedRow[] = []
    for (const row of page) {
      while (!next.done && compareKeys(keys, next.value, row) < 0) next = await there.next()
      const isThere = !next.done && compareKeys(keys, next.value, row) === 0
      if (!isThere || !areSame(columns, next.value, row)) missing.push(row)
    }
    if (missing.length === 0) continue
    put += missing.length
    await to.write(db => putRows(db, table, missing))
  }
  return put
}

/** SQLite takes 32,766 values in a statement, PostgreSQL 65,535. */
const valuesInStatement = 30_000

async function putRows(db: WriteDb, { name, keys, columns }: MovedTable, rows: readonly MovedRow[]) {
  const others = columns.filter(column => !keys.includes(column))
  const set = others.map(column => sql`${sql.ref(column)} = ${sql.ref(`excluded.${column}`)}`)
  const conflict = others.length > 0 ? sql`do update set ${sql.join(set)}` : sql`do nothing`
  const most = Math.floor(valuesInStatement / columns.length)
  for (let at = 0; at < rows.length; at += most) {
    const values = rows.slice(at, at + most).map(row => valuesOf(row, columns))
    await sql`insert into ${sql.table(name)} (${listOf(columns)}) values ${sql.join(values)}
      on conflict (${listOf(keys)}) ${conflict}`.execute(db)
  }
}

/** What each table of a database has, for two to be compared. */
export async function digestRows(db: Db, told: Told): Promise<TableDigest[]> {
  const digests: TableDigest[] = []
  const tables = await describeTables(db)
  for (const [at, table] of tables.entries()) {
    told(table.name, at, tables.length)
    const hash = createHash('sha256')
    let rows = 0
    for await (const row of rowsOf(db, table, table.columns)) {
      rows++
      for (const column of table.columns) update(hash, row[column]!)
    }
    digests.push({ table: table.name, rows, sha256: hash.digest('hex') })
  }
  return digests
}

/** The value with its kind and length before it, so that no two lists of values are the same bytes. */
function update(hash: Hash, value: string | number | Uint8Array | null): void {
  if (value === null) hash.update('n;')
  else if (typeof value === 'number') hash.update(`i${value};`)
  else if (typeof value === 'string') hash.update(`t${Buffer.byteLength(value)};`).update(value)
  else hash.update(`b${value.byteLength};`).update(value)
}
