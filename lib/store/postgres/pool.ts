import { sql } from 'kysely'
import pg from 'pg'
import { StorageContended, type StorageUnreachable } from '../../base/faults.ts'
import { inTime } from '../../base/time.ts'
import type { Db, WriteDb } from '../dialect/dialect.ts'
import { type Connection, handleOver, type Send } from './connection.ts'
import { hasCode, isOutage, outageOf, Unreplicated } from './outage.ts'
import { createReads } from './reads.ts'
import {
  beginSession,
  cutOff,
  postgresConnectMs,
  postgresGoodbyeMs,
  streamOf,
  withPlainMode,
} from './session.ts'
import { createWrites, postgresLockWaitMs, type Writes } from './write.ts'

/** How long PostgreSQL may take to answer. */
const postgresQueryMs = 60_000
/** How long a transaction may ask nothing. */
export const postgresIdleMs = 10_000
/** Connections of a pool that writes leave to reads, if there are so many. */
const postgresLeftConnections = 2

/** What a daemon must hold on the server while it asks anything there. */
export interface Hold {
  /** @throws StorageUnreachable while it is not held */
  requireHeld(): Promise<void>
  /**
   * Asked before each statement, because one that has begun also dates what it writes.
   * @throws StorageUnreachable while it is known not to be held, or if the clock of this machine was set since it agreed with the server's
   */
  requireSteady(): void
  /** Calls `listener` each time that it is lost. */
  onLost(listener: (error: StorageUnreachable) => void): void
}

/** How a server is reached. */
export interface Reaching {
  readonly hold?: Hold
  /** Called with each failure that is an outage. */
  readonly failed?: (error: StorageUnreachable) => void
}

export interface PostgresPool extends Writes {
  readonly db: Db
  /** Takes a connection for a transaction. @throws StorageUnreachable */
  take(): Promise<Connection>
  /** Does `work` in a transaction that only reads. */
  reading<T>(work: (db: Db) => Promise<T>): Promise<T>
  /** Sends each payload to everybody who listens on the channel. */
  notify(channel: string, payloads: readonly string[]): Promise<void>
  close(): Promise<void>
}

// count(*) and sums are bigint, which pg gives as text; ours stay far below 2^53.
const types = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === pg.types.builtins.INT8 || oid === pg.types.builtins.NUMERIC
      ? Number
      : pg.types.getTypeParser(oid, format),
}

/**
 * The function of the server that warns of a commit which no standby is known to have, because somebody ended its wait
 * (pg_cancel_backend). The warning is in the language of the server's messages, and its code means nothing.
 */
const waitsForStandby = 'SyncRepWaitForLSN'
/** invalid_sql_statement_name: there is no statement of this name. */
const noPlan = '26000'

/** What stays with a connection of the pool. */
interface Own {
  readonly connection: Omit<Connection, 'release'>
  isBroken: boolean
}

/**
 * Opens a pool of at most so many connections to `url` (postgres://…). A connection that met an outage is given up, because its state
 * is unknown.
 * @param queryMs how long an answer may take; 0: as long as it takes
 */
export function openPostgres(
  url: string,
  connections: number,
  { hold, failed = () => {} }: Reaching = {},
  queryMs: number = postgresQueryMs,
): PostgresPool {
  const settings = {
    // An error level of the role would hide the warning about a missing standby.
    client_min_messages: 'warning',
    // The server ends what takes too long, so that it is known that nothing was done.
    statement_timeout: String(queryMs),
    lock_timeout: String(postgresLockWaitMs),
    // A process that stands still in a transaction makes others wait for so long at most.
    idle_in_transaction_session_timeout: String(postgresIdleMs),
  }
  const open = new Set<pg.Client>()
  const unreplicated = new WeakSet<pg.ClientBase>()
  const owns = new WeakMap<pg.ClientBase, Own>()
  const pool = new pg.Pool({
    connectionString: withPlainMode(url),
    max: connections,
    types,
    application_name: 'mailboxd',
    // A connection that brings no answer is given up, so that nobody waits for a machine that is gone.
    query_timeout: queryMs,
    connectionTimeoutMillis: postgresConnectMs,
    keepAlive: true,
    // A statement that needs no answer of the one before is sent directly behind it.
    pipeline: true,
    async onConnect(client) {
      open.add(client as pg.Client)
      client.once('end', () => open.delete(client as pg.Client))
      client.on('notice', ({ routine }) => {
        if (routine === waitsForStandby) unreplicated.add(client)
      })
      await beginSession(client, settings)
    },
  })
  // A connection that the server closed is no fault: whoever asks over it gets the error, and the pool opens another.
  pool.on('error', () => {})
  pool.on('connect', client => void client.on('error', () => {}))
  hold?.onLost(() => {
    // No answer over these is waited for: the machine may be gone.
    for (const client of open) cutOff(client)
  })

  function toOutage(error: unknown): never {
    const outage = outageOf(error)
    failed(outage)
    throw outage
  }

  async function take(): Promise<Connection> {
    let client: pg.PoolClient
    try {
      await hold?.requireHeld()
      client = await pool.connect()
    } catch (error) {
      return toOutage(error)
    }
    const own = owns.get(client) ?? ownOf(client)
    owns.set(client, own)
    const { connection } = own
    return { ...connection, release: () => client.release(own.isBroken) }
  }

  function ownOf(client: pg.PoolClient): Own {
    const stream = streamOf(client)
    let isGathering = false
    /** Statements of one event-loop turn are sent as one packet. */
    const gather = () => {
      if (isGathering) return
      isGathering = true
      stream.cork()
      process.nextTick(() => {
        isGathering = false
        stream.uncork()
      })
    }
    /** The last failure of each named statement. */
    const failures = new Map<string, unknown>()
    const send: Send = async (text, values = [], name) => {
      try {
        hold?.requireSteady()
        gather()
        const answer = await client.query({ text, values: [...values], ...(name !== undefined && { name }) })
        if (unreplicated.has(client)) throw new Unreplicated()
        return answer
      } catch (met) {
        // If a statement fails before the server planned it, those sent behind it under its name have no plan: they fail for the same reason.
        const error = (hasCode(met, noPlan) && name !== undefined && failures.get(name)) || met
        if (name !== undefined) failures.set(name, error)
        if (!isOutage(error)) throw StorageContended.of(error)
        own.isBroken = true
        return toOutage(error)
      }
    }
    // Kysely releases what it took; `take` releases the connection.
    const once = { query: send as never, release() {} }
    const handles: WriteDb[] = []
    function handlesOf(count: number): readonly WriteDb[] {
      while (handles.length < count)
        handles.push(handleOver({ connect: async () => once, end: async () => {} } as never, send))
      return handles
    }
    const own: Own = { connection: { handles: handlesOf, send }, isBroken: false }
    return own
  }

  const connect = async () => {
    const { send, release } = await take()
    return { query: send as never, release }
  }
  const db = handleOver({ connect, end: async () => {} } as never, createReads(take))
  return {
    db,
    take,
    ...createWrites(take, Math.max(1, connections - postgresLeftConnections)),
    reading: work => db.transaction().setAccessMode('read only').execute(work),
    async notify(channel, payloads) {
      await sql`select pg_notify(${channel}, "said") from unnest(${payloads}::text[]) as "all"("said")`.execute(
        db,
      )
    },
    async close() {
      // A server that hangs does not keep a process from ending.
      await inTime(pool.end(), postgresGoodbyeMs, () => {
        for (const client of open) cutOff(client)
      })
    },
  }
}
