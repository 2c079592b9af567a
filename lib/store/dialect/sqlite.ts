import { closeSync, fdatasync, openSync } from 'node:fs'
import { promisify } from 'node:util'
import Database from 'better-sqlite3'
import { Kysely, SqliteDialect } from 'kysely'
import { DatabaseDamaged } from '../../base/faults.ts'
import type { Tables } from '../tables.ts'
import type { Db, WriteDb } from './dialect.ts'
import type { CommitTarget } from './group-commit.ts'
import { keepPrepared, runDirectly } from './prepared.ts'

type Connection = InstanceType<typeof Database>
type Statement = Pick<
  Database.Statement<unknown[]>,
  'reader' | 'readonly' | 'all' | 'run' | 'get' | 'iterate'
>

/** Is called when SQLite finds that the database is damaged, each time. */
export type FoundDamage = (damage: DatabaseDamaged) => void

/** Gives a statement that is run at once. */
type Prepare = (sql: string) => Statement

export interface SqliteReader {
  readonly db: Db
  readonly prepare: Prepare
  /** What is read from now on sees what was committed until now. */
  refresh(): void
  close(): void
}

export interface SqliteWriter extends Omit<CommitTarget, 'writeLeft' | 'waitsForLock' | 'requireWhole'> {
  /** What is read on this connection while nothing is written on it. */
  readonly between: ReadBetween
  close(): void
  /** From now on somebody else moves the log into the file; of the log's file so much is kept when it begins anew. */
  leaveCheckpoints(logBytes: number): void
  /** Writes the whole file anew, so that nothing stays in it that was overwritten or deleted, and empties the log. */
  rewrite(): void
}

interface ReadBetween {
  /** Gives undefined while something is written: it would see what is not committed. */
  prepare(sql: string): Statement | undefined
  /** Another number than before when anything was committed since; undefined while something is written. */
  version(): number | undefined
  refresh(): void
}

/** What the main thread reads by. */
export interface SqliteFollower extends Omit<SqliteReader, 'prepare'> {
  /** Another number than before when anything was committed since, by whatever process. */
  version(): number
}

/** How long a statement stands still at the start for another process that is writing, and while the file is written anew. */
const busyTimeoutMs = 5_000
/** How `pragma auto_vacuum` calls a file that gives free pages back when asked; one that was made otherwise keeps them until it is written anew. */
const incremental = 2
/** Pages of the log after which SQLite moves them into the file itself, until a thread does that (`./checkpoints.ts`). */
const checkpointPages = 4000
/** The transactions in which a connection is read from: all that is read in one turn of the event loop is in one. */
interface ReadTurns {
  /** Begins one where there is none. @throws what `begun` does */
  begin(): void
  isOpen(): boolean
  /** Ends the transaction, if there is one. */
  refresh(): void
}

/** @param begun called in each transaction that has begun; what it throws undoes it */
function readTurns(connection: Connection, begun: () => void = () => {}): ReadTurns {
  const [begin, rollback] = ['begin', 'rollback'].map(text => connection.prepare(text))
  let isReading = false
  const refresh = () => {
    // After some faults (I/O) SQLite has ended the transaction itself; of a file that is damaged it can be rolled back alone.
    if (isReading && connection.inTransaction) rollback!.run()
    isReading = false
  }
  return {
    begin() {
      if (isReading) return
      begin!.run()
      try {
        begun()
      } catch (error) {
        rollback!.run()
        throw error
      }
      isReading = true
      setImmediate(refresh)
    },
    isOpen: () => isReading,
    refresh,
  }
}

/**
 * Opens a connection that sees what is committed. The file must be there. All that is read in one turn of the event loop
 * is read in one transaction, because to lock and unlock the file takes the kernel as long as SQLite takes to find a row;
 * so another process's commit is seen from the next turn on, and one of this process after `refresh`.
 */
export function openSqliteReader(path: string, damaged?: FoundDamage): SqliteReader {
  const connection = new Database(path, { timeout: busyTimeoutMs, readonly: true })
  const turns = readTurns(connection)
  const statement = preparedOn(connection, damaged)
  const prepare = (sql: string) => {
    turns.begin()
    return statement(sql)
  }
  return {
    db: handleOn(prepare),
    prepare,
    refresh: turns.refresh,
    close() {
      turns.refresh()
      connection.close()
    },
  }
}

/**
 * Reads beside a writer of the same thread: on its connection, and while that is writing on another. The one that writes knows
 * what it wrote; another has to read each page again after each commit, which took several times as long as all else of a query.
 */
export function openSqliteFollower(
  path: string,
  { between }: Pick<SqliteWriter, 'between'>,
  damaged?: FoundDamage,
): SqliteFollower {
  const other = openSqliteReader(path, damaged)
  const refresh = () => {
    between.refresh()
    other.refresh()
  }
  let unknown = 0
  return {
    db: handleOn(sql => between.prepare(sql) ?? other.prepare(sql)),
    // While something is written nothing is remembered.
    version: () => between.version() ?? --unknown,
    refresh,
    close() {
      refresh()
      other.close()
    },
  }
}

/**
 * Opens the connection that writes; the file is made when it is missing. In WAL mode with synchronous=NORMAL a commit
 * appends to the log and does not wait for the disk; `sync` does, without holding up the event loop. A log that is
 * fsynced from outside is as good as one that SQLite fsyncs itself (synchronous=FULL does just that at each commit).
 */
export function openSqliteWriter(path: string, damaged?: FoundDamage): SqliteWriter {
  const connection = new Database(path, { timeout: busyTimeoutMs })
  // Of a file that has tables already it says nothing: `rewrite` does. Where it is so already, to say it once more would be a write.
  if (connection.pragma('auto_vacuum', { simple: true }) !== incremental)
    connection.pragma('auto_vacuum = incremental')
  connection.pragma('journal_mode = wal')
  connection.pragma('synchronous = normal')
  connection.pragma(`wal_autocheckpoint = ${checkpointPages}`)
  // What is deleted is overwritten, in the file and in the pages that become free.
  connection.pragma('secure_delete = on')
  const statement = preparedOn(connection, damaged)
  // SQLite makes the log when it first reads, and it stays the same file as long as this connection is open.
  statement('select 1 from sqlite_master').all()
  const log = openSync(`${path}-wal`, 'r')
  // To wait for a lock would hold up the event loop: who writes asks again.
  connection.pragma('busy_timeout = 0')
  let commits = 0
  let givenBytes = 0
  return {
    db: handleOn(statement, bytes => {
      givenBytes += bytes
    }),
    givenBytes: () => givenBytes,
    between: readBetween(connection, statement, () => commits),
    exec: text => {
      statement(text).run()
      if (text === 'commit') commits++
    },
    isLocked: error => codeOf(error).startsWith('SQLITE_BUSY'),
    isDiskFault: error => codeOf(error).endsWith('_FSYNC'),
    sync: () => syncFile(log),
    leaveCheckpoints(logBytes) {
      connection.pragma('wal_autocheckpoint = 0')
      connection.pragma(`journal_size_limit = ${logBytes}`)
    },
    rewrite() {
      connection.pragma(`busy_timeout = ${busyTimeoutMs}`)
      try {
        connection.pragma('auto_vacuum = incremental')
        connection.exec('vacuum')
        connection.pragma('wal_checkpoint(truncate)')
      } finally {
        connection.pragma('busy_timeout = 0')
      }
    },
    close() {
      closeSync(log)
      connection.close()
    },
  }
}

/** @param commits how many there were on this connection, whose `data_version` speaks of others' alone */
function readBetween(connection: Connection, statement: Prepare, commits: () => number): ReadBetween {
  const others = statement('pragma data_version')
  /** What was committed when it last changed. */
  let known: { readonly own: number; readonly others: unknown } | undefined
  let version = 0
  const turns = readTurns(connection, () => {
    const now = { own: commits(), others: (others.get() as { data_version: unknown }).data_version }
    if (now.own !== known?.own || now.others !== known.others) version++
    known = now
  })
  /** A process that mends the log after a crash keeps readers out for a moment, and to wait would hold up the event loop. */
  const isReading = () => {
    if (turns.isOpen()) return true
    if (connection.inTransaction) return false
    try {
      turns.begin()
      return true
    } catch (error) {
      if (codeOf(error).startsWith('SQLITE_BUSY')) return false
      throw error
    }
  }
  return {
    prepare(sql) {
      if (!isReading()) return undefined
      const found = statement(sql)
      if (!found.readonly) throw new Error(`this does not read: ${sql}`)
      return found
    },
    version: () => (isReading() ? version : undefined),
    refresh: turns.refresh,
  }
}

const syncFile = promisify(fdatasync)

/** A connection of another thread of this process that reads and writes, and waits for its turn by standing still. */
export interface SqliteBeside {
  readonly db: WriteDb
  transact<T>(work: (db: WriteDb) => Promise<T>): Promise<T>
  /** Another number than before when another connection has committed anything since. */
  version(): number
  /**
   * Gives pages that are free back to the disk, at most `most`, and leaves `kept` of them for what comes next.
   * @returns whether it did any
   */
  freeSome(most: number, kept: number): boolean
  close(): void
}

/** Opens one on a database that is there. Its commits reach the disk with others'. */
export function openSqliteBeside(path: string): SqliteBeside {
  const connection = new Database(path, { timeout: busyTimeoutMs })
  connection.pragma('synchronous = normal')
  connection.pragma('wal_autocheckpoint = 0')
  // The same where it costs no page more: the index is merged again and again.
  connection.pragma('secure_delete = fast')
  const prepare = preparedOn(connection)
  const db = handleOn(prepare)
  return {
    db,
    close: () => void connection.close(),
    version: () => (prepare('pragma data_version').get() as { data_version: number }).data_version,
    freeSome(most, kept) {
      const one = (name: string) => Number(connection.pragma(name, { simple: true }))
      const free = one('freelist_count') - kept
      if (free <= 0 || one('auto_vacuum') !== incremental) return false
      // A step of a prepared statement would free one page.
      connection.exec(`pragma incremental_vacuum(${Math.min(free, most)})`)
      return true
    },
    async transact(work) {
      prepare('begin immediate').run()
      try {
        const value = await work(db)
        prepare('commit').run()
        return value
      } catch (error) {
        if (connection.inTransaction) prepare('rollback').run()
        throw error
      }
    },
  }
}

/** `SQLITE_…`, also the extended ones; empty for what SQLite did not say. */
function codeOf(error: unknown): string {
  return error instanceof Database.SqliteError ? error.code : ''
}

/**
 * Sets a connection up; gives what prepares its statements.
 * @param damaged what a statement throws then is a DatabaseDamaged
 */
function preparedOn(connection: Connection, damaged: FoundDamage = () => {}): Prepare {
  connection.pragma('foreign_keys = on')
  // What stands in the schema calls no function that does more than compute.
  connection.pragma('trusted_schema = off')
  connection.pragma('temp_store = memory')
  connection.pragma('cache_size = -16000')
  const guard = <T>(work: () => T): T => {
    try {
      return work()
    } catch (error) {
      const damage = DatabaseDamaged.of(error)
      if (damage === undefined) throw error
      damaged(damage)
      throw damage
    }
  }
  return keepPrepared(sql => {
    const statement: Statement = guard(() => connection.prepare<unknown[]>(unplannedBy(sql)))
    return {
      reader: statement.reader,
      readonly: statement.readonly,
      all: (...values) => guard(() => statement.all(...values)),
      run: (...values) => guard(() => statement.run(...values)),
      get: (...values) => guard(() => statement.get(...values)),
      iterate: (...values) => statement.iterate(...values),
    }
  })
}

/**
 * What runs statements that are prepared so.
 * @param written called with about how many bytes a statement that changes rows was given: a letter counts as one
 */
function handleOn(prepare: Prepare, written: (bytes: number) => void = () => {}): WriteDb {
  const dialect = new SqliteDialect({ database: { prepare, close() {} } })
  const db: WriteDb = new Kysely<Tables>({ dialect })
  runDirectly(db, {
    dialect: 'sqlite',
    rows: (sql, values) => prepare(sql).all(...values),
    change(sql, values) {
      for (const value of values)
        if (typeof value === 'string' || value instanceof Uint8Array) written(value.length)
      return prepare(sql).run(...values).changes
    },
  })
  return db
}

/**
 * The same text, with a sign that changes no value before each place. SQLite looks at the value in a bare place when it plans a join,
 * an order or a limit, and then plans anew each time that another value is bound (sqlite3_bind, "automatically recompiled"), which
 * took eight times as long as to run it: 97 instead of 12 µs for what a delivery begins with.
 */
function unplannedBy(sql: string): string {
  return sql.replace(/'[^']*'|"[^"]*"|\?/g, part => (part === '?' ? '+?' : part))
}
