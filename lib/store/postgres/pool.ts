import { randomInt } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { Kysely, type PostgresPool as KyselyPool, PostgresDialect, sql } from 'kysely'
import pg from 'pg'
import { limits } from '../../base/limits.ts'
import { StorageUnreachable } from '../../base/storage-fault.ts'
import type { Db, WriteDb } from '../dialect/dialect.ts'
import { gatherRows, type LeftRows, noRows } from '../dialect/left-rows.ts'
import { gatherNotices, type Notices } from '../dialect/notices.ts'
import type { Tables } from '../tables.ts'

/** A serializable transaction that met another is done again this often before its failure is told. */
const retries = 20

// count(*) and sums are bigint, which pg gives as text; ours stay far below 2^53.
const types = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === pg.types.builtins.INT8 || oid === pg.types.builtins.NUMERIC
      ? Number
      : pg.types.getTypeParser(oid, format),
}

export interface PostgresPool {
  readonly db: Db
  /**
   * @param writeLeft writes what the write left to its end
   * @param committed called after the commit, with what the write gave notice of
   */
  write<T>(
    work: (db: WriteDb) => Promise<T>,
    writeLeft: (db: WriteDb, left: LeftRows) => Promise<void>,
    committed: (notices: Notices) => void,
  ): Promise<T>
  /** As `write`, for what one process at a time does: gives undefined where another is at it. What is told by it nobody waits for. */
  writeInTurn<T>(
    work: (db: WriteDb) => Promise<T>,
    writeLeft: (db: WriteDb, left: LeftRows) => Promise<void>,
  ): Promise<T | undefined>
  /**
   * Does `work` in a transaction that one connection at a time is in, whichever process it is of; gives undefined where another is in
   * one. What is read in it is what is committed by then.
   */
  alone<T>(work: (db: WriteDb) => Promise<T>, committed: (notices: Notices) => void): Promise<T | undefined>
  /** Has `work` read what is committed by now, and nothing after it, for as long as it takes. */
  snapshot<T>(work: (db: Db) => Promise<T>): Promise<T>
  /** Sends each payload to everybody who listens on the channel. */
  notify(channel: string, payloads: readonly string[]): Promise<void>
  close(): Promise<void>
}

/** The advisory lock of who gives events their places, and of who writes in turn. */
const placingLock = 0x706c6163
const turnLock = 0x7475726e

/**
 * Opens a pool of at most so many connections on `url` (postgres://…). What it can not ask throws StorageUnreachable.
 * @param queryMs how long an answer may take; 0: as long as it takes
 */
export function openPostgres(
  url: string,
  connections: number,
  queryMs: number = limits.postgresQueryMs,
): PostgresPool {
  const pool = new pg.Pool({
    connectionString: url,
    max: connections,
    types,
    application_name: 'mailboxd',
    connectionTimeoutMillis: limits.postgresConnectMs,
    // A connection through which nothing comes back is given up, so that nobody waits for a machine that is gone.
    query_timeout: queryMs,
    // A process that stands still in a transaction keeps others waiting for so long at the most.
    idle_in_transaction_session_timeout: limits.postgresIdleMs,
    keepAlive: true,
  })
  // A connection that the server closed is no fault of ours: who asks over it is told, and the pool opens another.
  pool.on('error', () => {})
  pool.on('connect', client => void client.on('error', () => {}))
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool: reachedOver(pool) }) })
  return {
    db,
    async notify(channel, payloads) {
      await sql`select pg_notify(${channel}, "said") from unnest(${payloads}::text[]) as "all"("said")`.execute(
        db,
      )
    },
    close: () => db.destroy(),
    snapshot: work =>
      db
        .transaction()
        .setIsolationLevel('repeatable read')
        .setAccessMode('read only')
        .execute(async transaction => {
          await sql`set local idle_in_transaction_session_timeout = 0`.execute(transaction)
          return work(transaction)
        }),
    async alone(work, committed) {
      const notices: Notices = new Map()
      const value = await db
        .transaction()
        .setIsolationLevel('read committed')
        .execute(async transaction => {
          // A statement of its own: what the next one sees is what is committed once the lock is held.
          const { rows } = await sql<{ isHeld: boolean }>`
            select pg_try_advisory_xact_lock(${sql.lit(placingLock)}) as "isHeld"`.execute(transaction)
          if (!rows[0]!.isHeld) return undefined
          gatherNotices(transaction, notices)
          return work(transaction)
        })
      committed(notices)
      return value
    },
    write: (work, writeLeft, committed) => writeOn(db, work, writeLeft, committed),
    writeInTurn: (work, writeLeft) =>
      db.connection().execute(async connection => {
        // Of the session, and before the transaction: what that sees is what is committed once the lock is held.
        const { rows } = await sql<{ isHeld: boolean }>`
          select pg_try_advisory_lock(${sql.lit(turnLock)}) as "isHeld"`.execute(connection)
        if (!rows[0]!.isHeld) return undefined
        try {
          return await writeOn(connection, work, writeLeft, () => {})
        } finally {
          await sql`select pg_advisory_unlock(${sql.lit(turnLock)})`.execute(connection)
        }
      }),
  }
}

/** Does a write in a serializable transaction, and again where it met another, each time after a somewhat longer pause. */
async function writeOn<T>(
  db: Kysely<Tables>,
  work: (db: WriteDb) => Promise<T>,
  writeLeft: (db: WriteDb, left: LeftRows) => Promise<void>,
  committed: (notices: Notices) => void,
): Promise<T> {
  for (let tried = 0; ; tried++) {
    try {
      const notices: Notices = new Map()
      const value = await db
        .transaction()
        .setIsolationLevel('serializable')
        .execute(async transaction => {
          gatherNotices(transaction, notices)
          const left = noRows()
          gatherRows(transaction, left)
          const made = await work(transaction)
          await writeLeft(transaction, left)
          return made
        })
      committed(notices)
      return value
    } catch (error) {
      if (!isConflict(error) || tried === retries) throw error
      // Who met each other would meet again.
      await pause(randomInt(Math.min(2 ** tried, limits.postgresConflictMs)))
    }
  }
}

/** The same pool, of which an outage is told by one name. */
function reachedOver(pool: pg.Pool): KyselyPool {
  return {
    options: pool.options,
    async connect() {
      const client = await pool.connect().catch(cause => {
        throw new StorageUnreachable(cause)
      })
      const query = (text: string, values: readonly unknown[]) =>
        client.query(text, [...values]).catch(unreachable)
      // Nothing here reads by a cursor, the other way to call it.
      return { query: query as never, release: isBroken => client.release(isBroken) }
    },
    end: () => pool.end(),
  }
}

function unreachable(error: unknown): never {
  throw isOutage(error) ? new StorageUnreachable(error) : error
}

/** What the system says of a server that is not reached. */
const systemCodes = [
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENOENT',
]
/** connection_exception, admin_shutdown and its kin, too_many_connections, and read_only_sql_transaction: a standby. */
const serverCodes = /^(08...|57P0.|53300|25006)$/
/** What pg says without a code. */
const sentences =
  /^(Connection terminated|Query read timeout|timeout exceeded|Client (has encountered|was closed))/

function isOutage(error: unknown): error is Error {
  if (!(error instanceof Error)) return false
  if (!('code' in error) || error.code === undefined) return sentences.test(error.message)
  return systemCodes.includes(String(error.code)) || serverCodes.test(String(error.code))
}

/** serialization_failure and deadlock_detected: the transaction did nothing, and doing it again is right. */
function isConflict(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === '40001' || error.code === '40P01')
}
