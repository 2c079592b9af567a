import { type PostgresPool as KyselyPool, sql } from 'kysely'
import pg from 'pg'
import { limits } from '../../base/limits.ts'
import { StorageUnreachable } from '../../base/storage-fault.ts'
import type { Db, WriteDb } from '../dialect/dialect.ts'
import { gatherNotices, type Notices } from '../dialect/notices.ts'
import {
  type Client,
  type Connection,
  handleOver,
  isOfOldPlan,
  type Send,
  takeConnection,
} from './connection.ts'
import { type Written, writeSerially } from './serial.ts'

// count(*) and sums are bigint, which pg gives as text; ours stay far below 2^53.
const types = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === pg.types.builtins.INT8 || oid === pg.types.builtins.NUMERIC
      ? Number
      : pg.types.getTypeParser(oid, format),
}

export interface PostgresPool {
  readonly db: Db
  /** Takes a connection for a transaction or several; what is sent over it is sent at once. */
  take(): Promise<Connection>
  /** Does `work` in a serializable transaction, again and again where it meets another. */
  write<T>(work: (db: WriteDb) => Promise<T>, written: Written): Promise<T>
  /** As `write`, for what one process at a time does: gives undefined where another is at it. What is told by it nobody waits for. */
  writeInTurn<T>(work: (db: WriteDb) => Promise<T>, writeLeft: Written['writeLeft']): Promise<T | undefined>
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

/** Opens a pool of at most so many connections on `url` (postgres://…). What it can not ask throws StorageUnreachable. */
export function openPostgres(url: string, connections: number): PostgresPool {
  const pool = new pg.Pool({
    connectionString: url,
    max: connections,
    types,
    application_name: 'mailboxd',
    connectionTimeoutMillis: limits.postgresConnectMs,
    // A connection through which nothing comes back is given up, so that nobody waits for a machine that is gone.
    query_timeout: limits.postgresQueryMs,
    // A process that stands still in a transaction keeps others waiting for so long at the most.
    idle_in_transaction_session_timeout: limits.postgresIdleMs,
    keepAlive: true,
    // What needs no answer of before is sent behind it, and not after it.
    pipeline: true,
  } as pg.PoolConfig)
  // A connection that the server closed is no fault of ours: who asks over it is told, and the pool opens another.
  pool.on('error', () => {})
  pool.on('connect', client => void client.on('error', () => {}))
  const reached = reachedOver(pool)
  const connect = reached.connect as unknown as () => Promise<Client>
  const ask: Send = async (text, values, name) => {
    const client = await connect()
    try {
      return await client.query(text, values, name).catch(error => {
        if (isOfOldPlan(error)) return client.query(text, values)
        throw error
      })
    } finally {
      client.release()
    }
  }
  const db = handleOver(reached, ask)
  const take = () => takeConnection(connect)
  return {
    db,
    take,
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
    write: (work, written) => writeSerially(take, work, written),
    async writeInTurn(work, writeLeft) {
      const connection = await take()
      try {
        // Of the session, and before the transaction: what that sees is what is committed once the lock is held.
        const { rows } = await connection.send('select pg_try_advisory_lock($1) as "isHeld"', [turnLock])
        if (!rows[0]!.isHeld) return undefined
        try {
          const kept = async () => ({ ...connection, release() {} })
          return await writeSerially(kept, work, { writeLeft, committed() {} })
        } finally {
          await connection.send('select pg_advisory_unlock($1)', [turnLock])
        }
      } finally {
        connection.release()
      }
    },
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
      let isBroken = false
      const query: Send = (text, values = [], name) =>
        client.query({ text, values: [...values], ...(name !== undefined && { name }) }).catch(error => {
          isBroken ||= isOutage(error)
          return unreachable(error)
        })
      // Nothing here reads by a cursor, the other way to call it.
      return { query: query as never, release: () => client.release(isBroken) }
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
