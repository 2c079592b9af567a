import Database from 'better-sqlite3'
import { Kysely, SqliteDialect } from 'kysely'
import type { Db } from './dialect.ts'
import type { Tables } from './tables.ts'

type Connection = InstanceType<typeof Database>
type Statement = Database.Statement<unknown[]>

export interface SqliteConnection {
  readonly db: Db
  /** Runs one statement that gives no rows, at once: begin, savepoint, commit. */
  exec(statement: string): void
  close(): void
}

/** How long a statement waits for another process (mailboxctl) that is writing. */
const busyTimeoutMs = 5_000
/** Compiled statements kept for each connection; the product has fewer different ones than this. */
const statementsKept = 500

/**
 * Opens one connection. WAL with synchronous=FULL: a commit is on the disk when it returns.
 * @param mode `write` makes the file when it is missing; `read` sees only what is committed.
 */
export function openSqlite(path: string, mode: 'read' | 'write'): SqliteConnection {
  const connection = new Database(path, { timeout: busyTimeoutMs, readonly: mode === 'read' })
  connection.pragma('foreign_keys = on')
  connection.pragma('temp_store = memory')
  connection.pragma('cache_size = -16000')
  if (mode === 'write') {
    connection.pragma('journal_mode = wal')
    connection.pragma('synchronous = full')
  }
  const prepare = statementCache(connection)
  const db = new Kysely<Tables>({
    dialect: new SqliteDialect({ database: { prepare, close: () => connection.close() } }),
  })
  return {
    db,
    exec: statement => {
      prepare(statement).run()
    },
    close: () => connection.close(),
  }
}

/**
 * kysely prepares a statement for every query; compiling costs SQLite more than running it (measured: 65 µs a
 * select by key against 11 µs). A statement that is still being iterated can't be run again, so it is not shared.
 */
function statementCache(connection: Connection): (sql: string) => Statement {
  const kept = new Map<string, Statement>()
  return sql => {
    const known = kept.get(sql)
    if (known && !known.busy) return known
    const statement = connection.prepare(sql)
    if (!known) {
      if (kept.size >= statementsKept) kept.delete(kept.keys().next().value!)
      kept.set(sql, statement)
    }
    return statement
  }
}
