import { type Compilable, type CompiledQuery, type Kysely, PostgresAdapter } from 'kysely'
import type { Tables } from '../tables.ts'

/** A handle that queries go through: the reader, or the one that a write is given. It comes first in every function of store. */
export type Db = Kysely<Tables>

export type DialectName = 'sqlite' | 'postgres'

/** Whose words the queries on this handle are written in, for the few that can't be portable. */
export function dialectOf(db: Db): DialectName {
  return db.getExecutor().adapter instanceof PostgresAdapter ? 'postgres' : 'sqlite'
}

type Value = string | number

/** Runs composed statements at once: a database in this process has no use for what kysely does about a connection. */
export interface Direct {
  rows(sql: string, values: readonly unknown[]): unknown[]
  /** Gives how many rows were changed. */
  change(sql: string, values: readonly unknown[]): number
}
const directs = new WeakMap<Db, Direct>()

/** Has the kept statements on `db` run by `direct`. */
export function runDirectly(db: Db, direct: Direct): void {
  directs.set(db, direct)
}

/** Composed at the first call on each kind of database. */
function composedOnce(build: (db: Db) => Compilable<unknown>): (db: Db) => CompiledQuery<unknown> {
  const kept = new Map<DialectName, CompiledQuery<unknown>>()
  return db => {
    const dialect = directs.has(db) ? 'sqlite' : dialectOf(db)
    let query = kept.get(dialect)
    if (!query) {
      query = build(db).compile()
      kept.set(dialect, query)
    }
    return query
  }
}

/**
 * A query that most requests make, built once: building costs as much as SQLite needs to answer it.
 * @param build with any values in the places of those that each call gives, in their order
 */
export function keptRows<Row>(
  build: (db: Db) => Compilable<Row>,
): (db: Db, ...values: Value[]) => Promise<Row[]> {
  const queryOn = composedOnce(build)
  return async (db, ...values) => rowsOf<Row>(db, queryOn(db), values)
}

/** The same for one row. */
export function keptRow<Row>(
  build: (db: Db) => Compilable<Row>,
): (db: Db, ...values: Value[]) => Promise<Row | undefined> {
  const queryOn = composedOnce(build)
  return async (db, ...values) => (await rowsOf<Row>(db, queryOn(db), values))[0]
}

function rowsOf<Row>(
  db: Db,
  query: CompiledQuery<unknown>,
  values: readonly unknown[],
): Row[] | Promise<Row[]> {
  const direct = directs.get(db)
  if (direct) return direct.rows(query.sql, values) as Row[]
  return db.executeQuery({ ...query, parameters: values }).then(({ rows }) => rows as Row[])
}

/**
 * A change that most requests or calls make, built once; gives how many rows it changed.
 * @param build with any values in the places of those that each call gives, in their order
 */
export function keptChange(
  build: (db: Db) => Compilable<unknown>,
): (db: Db, ...values: (Value | null)[]) => Promise<number> {
  const queryOn = composedOnce(build)
  return async (db, ...values) => change(db, queryOn(db), values)
}

/** Runs a composed statement that gives no rows; gives how many it changed. */
export async function change(
  db: Db,
  query: CompiledQuery<unknown>,
  values: readonly unknown[],
): Promise<number> {
  const direct = directs.get(db)
  if (direct) return direct.change(query.sql, values)
  const { numAffectedRows } = await db.executeQuery({ ...query, parameters: values })
  return Number(numAffectedRows ?? 0)
}

/** Portable DDL (schema.sql says its rules) and the sections of `dialect`, in its words. */
export function ddlFor(dialect: DialectName, script: string): string {
  const sql = withOwnSections(dialect, script)
  if (dialect === 'sqlite') return sql
  return sql.replaceAll(/\btext\b/g, 'text collate "C"').replaceAll(/\bblob\b/g, 'bytea')
}

/** What stands between `-- only on <dialect>` and `-- end only` is for that one alone. */
function withOwnSections(dialect: DialectName, script: string): string {
  let only: string | undefined
  const kept = script.split('\n').flatMap(line => {
    const begun = /^-- only on (\w+)$/.exec(line)?.[1]
    if (begun !== undefined) {
      only = begun
      return ['']
    }
    const isOthers = only !== undefined && only !== dialect
    if (line !== '-- end only') return isOthers ? [] : [line]
    only = undefined
    return isOthers ? [] : ['']
  })
  return kept.join('\n')
}
