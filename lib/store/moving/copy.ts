import { createHash, type Hash } from 'node:crypto'
import { sql } from 'kysely'
import { type Db, dialectOf, type WriteDb } from '../dialect/dialect.ts'
import type { Store } from '../open.ts'
import { describeTables, type MovedTable } from './moved-tables.ts'
import { listOf, type MovedRow, pagesOf, valuesOf } from './pages.ts'

/** Called for each table when it is begun, with its place among all. */
export type Told = (step: string, done: number, of: number) => void

/** What one table has. */
export interface TableDigest {
  readonly table: string
  readonly rows: number
  /** SHA-256 over all values of all rows in the order of their keys. */
  readonly sha256: string
}

/**
 * Copies all rows of an installation in one pass, and compares the count and the checksum of each table. The account is
 * written last, so that a copy that was cut off is recognised (`isHalfCopied`).
 * @param to a database without rows
 * @throws CopyDiffers
 */
export async function copyRows(
  from: Db,
  to: Pick<Store, 'read' | 'write'>,
  told: Told,
): Promise<TableDigest[]> {
  const tables = await describeTables(from)
  const last = tables.at(-1)!
  const digests: TableDigest[] = []
  const lastRows: MovedRow[] = []
  const keep = async (rows: readonly MovedRow[]) => void lastRows.push(...rows)
  for (const [at, table] of tables.entries()) {
    told(`copying ${table.name}`, at, tables.length)
    const put = (rows: readonly MovedRow[]) => to.write(db => putRows(db, table, rows))
    digests.push(await digestOf(from, table, table === last ? keep : put))
  }
  for (const [at, table] of tables.slice(0, -1).entries()) {
    told(`comparing ${table.name}`, at, tables.length)
    requireSame(digests[at]!, await digestOf(to.read, table))
  }
  await to.write(async db => {
    await putRows(db, last, lastRows)
    requireSame(digests.at(-1)!, await digestOf(db, last))
    await sql`insert into "unindexedBody" ("messageId", "state") select "id", 'new' from "message"`.execute(
      db,
    )
  })
  return digests
}

/** A table of the copy is not what was copied. */
export class CopyDiffers extends Error {
  override readonly name = 'CopyDiffers'
}

/** @throws CopyDiffers */
function requireSame(wanted: TableDigest, found: TableDigest): void {
  if (wanted.sha256 === found.sha256) return
  throw new CopyDiffers(`${wanted.table} has ${found.rows} rows there and ${wanted.rows} here, or others`)
}

/** Why a database cannot take the rows of an installation, in a sentence; undefined if it has no rows. */
export async function findOccupant(db: Db): Promise<string | undefined> {
  const found = await listTables(db)
  if (found.length === 0) return undefined
  if (!found.includes('migration'))
    return 'there are tables that mailboxd did not make: name an empty database'
  if (!found.includes('account')) return undefined
  if (await hasRows(db, 'account')) return 'an installation is there already: name an empty database'
  for (const { name } of await describeTables(db)) {
    if (await hasRows(db, name))
      return `there are rows of a copy that was cut off (${name}): drop that database, make it again, and run the same command`
  }
  return undefined
}

/** Whether rows were being moved into this database and not all of them arrived. */
export async function isHalfCopied(db: Db): Promise<boolean> {
  return !(await hasRows(db, 'account')) && (await hasRows(db, 'pod'))
}

async function hasRows(db: Db, table: string): Promise<boolean> {
  return (await sql`select 1 from ${sql.table(table)} limit 1`.execute(db)).rows.length > 0
}

async function listTables(db: Db): Promise<string[]> {
  const asked =
    dialectOf(db) === 'sqlite'
      ? sql<{ name: string }>`select "name" from sqlite_master where "type" = 'table'`
      : sql<{ name: string }>`select tablename as "name" from pg_tables where schemaname = current_schema()`
  return (await asked.execute(db)).rows.map(({ name }) => name)
}

/** SQLite takes 32,766 values in a statement, PostgreSQL 65,535. */
const valuesInStatement = 30_000

async function putRows(db: WriteDb, { name, columns }: MovedTable, rows: readonly MovedRow[]): Promise<void> {
  const most = Math.floor(valuesInStatement / columns.length)
  for (let at = 0; at < rows.length; at += most) {
    const values = rows.slice(at, at + most).map(row => valuesOf(row, columns))
    await sql`insert into ${sql.table(name)} (${listOf(columns)}) values ${sql.join(values)}`.execute(db)
  }
}

/** What a table has. @param take is given its rows, page by page */
async function digestOf(
  db: Db,
  table: MovedTable,
  take: (rows: readonly MovedRow[]) => Promise<void> = async () => {},
): Promise<TableDigest> {
  const hash = createHash('sha256')
  let rows = 0
  for await (const page of pagesOf(db, table)) {
    rows += page.length
    for (const row of page) for (const column of table.columns) update(hash, row[column]!)
    await take(page)
  }
  return { table: table.name, rows, sha256: hash.digest('hex') }
}

/** The value with its kind and length before it, so that no two lists of values are the same bytes. */
function update(hash: Hash, value: string | number | Uint8Array | null): void {
  if (value === null) hash.update('n;')
  else if (typeof value === 'number') hash.update(`i${value};`)
  else if (typeof value === 'string') hash.update(`t${Buffer.byteLength(value)};`).update(value)
  else hash.update(`b${value.byteLength};`).update(value)
}
