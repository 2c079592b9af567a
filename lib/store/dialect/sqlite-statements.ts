import type Database from 'better-sqlite3'
import { Kysely, SqliteDialect } from 'kysely'
import type { Tables } from '../tables.ts'
import type { WriteDb } from './dialect.ts'
import { runDirectly } from './kept.ts'

type Connection = InstanceType<typeof Database>
/** A prepared one. */
export type Statement = Database.Statement<unknown[]>

/** Gives a statement that is run at once. */
export type Prepare = (sql: string) => Statement

/**
 * Compiled statements kept for each connection; the first one that was kept makes room for a new one. Most of the product's
 * are always the same text, but filters and lists of values make many texts of one.
 */
const statementsKept = 500

/** Sets a connection up; gives what prepares its statements. */
export function preparedOn(connection: Connection): Prepare {
  connection.pragma('foreign_keys = on')
  // What stands in the schema calls no function that does more than compute.
  connection.pragma('trusted_schema = off')
  connection.pragma('temp_store = memory')
  connection.pragma('cache_size = -16000')
  return statementCache(connection)
}

/**
 * What runs statements that are prepared so.
 * @param written called with about how many bytes a statement that changes rows was given: a letter counts as one
 */
export function handleOn(prepare: Prepare, written: (bytes: number) => void = () => {}): WriteDb {
  const dialect = new SqliteDialect({ database: { prepare, close() {} } })
  const db: WriteDb = new Kysely<Tables>({ dialect })
  runDirectly(db, {
    rows: (sql, values) => prepare(sql).all(...values),
    change(sql, values) {
      for (const value of values) {
        if (typeof value === 'string' || value instanceof Uint8Array) written(value.length)
      }
      return prepare(sql).run(...values).changes
    },
  })
  return db
}

/**
 * kysely prepares a statement for every query; compiling costs SQLite more than running it (measured: 65 µs a
 * select by key against 11 µs). A statement that is still being iterated can't be run again, so it is not shared.
 */
function statementCache(connection: Connection): Prepare {
  const kept = new Map<string, Statement>()
  return sql => {
    const known = kept.get(sql)
    if (known && !known.busy) return known
    const statement = connection.prepare(unplannedBy(sql))
    if (!known) {
      if (kept.size >= statementsKept) kept.delete(kept.keys().next().value!)
      kept.set(sql, statement)
    }
    return statement
  }
}

/**
 * The same text, with a sign that changes no value before each place. SQLite looks at the value in a bare place when it plans a join,
 * an order or a limit, and then plans anew each time that another value is bound (sqlite3_bind, "automatically recompiled"), which
 * took eight times as long as to run it: 97 instead of 12 µs for what a delivery begins with.
 */
function unplannedBy(sql: string): string {
  return sql.replace(/'[^']*'|"[^"]*"|\?/g, part => (part === '?' ? '+?' : part))
}
