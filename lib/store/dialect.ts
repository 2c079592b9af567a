import { type Compilable, type CompiledQuery, type Kysely, PostgresAdapter } from 'kysely'
import type { Tables } from './tables.ts'

/** A handle that queries go through: the reader, or the one that a write is given. It comes first in every function of store. */
export type Db = Kysely<Tables>

export type DialectName = 'sqlite' | 'postgres'

/** Whose words the queries on this handle are written in, for the few that can't be portable. */
export function dialectOf(db: Db): DialectName {
  return db.getExecutor().adapter instanceof PostgresAdapter ? 'postgres' : 'sqlite'
}

type Value = string | number

/** Runs a composed query at once. A database in this process has no use for what kysely does about a connection. */
type DirectRead = (sql: string, values: readonly Value[]) => unknown[]
const directReads = new WeakMap<Db, DirectRead>()

/** Has the kept queries on `db` run by `read`. */
export function readDirectly(db: Db, read: DirectRead): void {
  directReads.set(db, read)
}

/** Composes at the first call; gives rows at once where they are read directly. */
function kept<Row>(
  build: (db: Db) => Compilable<Row>,
): (db: Db, values: readonly Value[]) => Row[] | Promise<Row[]> {
  const queries = new Map<DialectName, CompiledQuery<Row>>()
  return (db, values) => {
    const read = directReads.get(db)
    const dialect = read ? 'sqlite' : dialectOf(db)
    let query = queries.get(dialect)
    if (!query) {
      query = build(db).compile()
      queries.set(dialect, query)
    }
    if (read) return read(query.sql, values) as Row[]
    return db.executeQuery<Row>({ ...query, parameters: values }).then(({ rows }) => rows)
  }
}

/**
 * A query that most requests make, built once: building costs as much as SQLite needs to answer it.
 * @param build with any values in the places of those that each call gives, in their order
 */
export function keptRows<Row>(
  build: (db: Db) => Compilable<Row>,
): (db: Db, ...values: Value[]) => Promise<Row[]> {
  const run = kept(build)
  return async (db, ...values) => run(db, values)
}

/** The same for one row. */
export function keptQuery<Row>(
  build: (db: Db) => Compilable<Row>,
): (db: Db, ...values: Value[]) => Promise<Row | undefined> {
  const run = kept(build)
  return async (db, ...values) => (await run(db, values))[0]
}

/**
 * A change that most requests or calls make, built once; gives how many rows it changed.
 * @param build with any values in the places of those that each call gives, in their order
 */
export function keptChange(
  build: (db: Db) => Compilable<unknown>,
): (db: Db, ...values: (string | number | null)[]) => Promise<number> {
  const kept = new Map<DialectName, CompiledQuery<unknown>>()
  return async (db, ...values) => {
    const dialect = dialectOf(db)
    const compiled = kept.get(dialect) ?? build(db).compile()
    kept.set(dialect, compiled)
    const { numAffectedRows } = await db.executeQuery({ ...compiled, parameters: values })
    return Number(numAffectedRows ?? 0)
  }
}

/** What stands between `-- only on <dialect>` and `-- end only` is for that one alone. */
const section = /^-- only on (\w+)$([\s\S]*?)^-- end only$/gm

/** Portable DDL (schema.sql says its rules) and the sections of `dialect`, in its words. */
export function ddlFor(dialect: DialectName, script: string): string {
  const sql = script.replaceAll(section, (_whole, name: string, own: string) => (name === dialect ? own : ''))
  if (dialect === 'sqlite') return sql
  return sql.replaceAll(/\btext\b/g, 'text collate "C"').replaceAll(/\bblob\b/g, 'bytea')
}
