import { sql } from 'kysely'
import pg from 'pg'
import { limits } from '../../base/limits.ts'
import type { Db, WriteDb } from '../dialect/dialect.ts'
import type { Notices } from '../dialect/notices.ts'
import { alone } from '../transactions/alone.ts'
import { type Client, type Connection, handleOver, takeConnection } from '../transactions/connection.ts'
import { createSerialWrites, type Written } from '../transactions/serial.ts'
import type { Turn } from '../transactions/turn.ts'
import { askTogether } from './questions.ts'
import { type Reaching, reachedOver } from './reached.ts'
import { statementTimeout } from './servers.ts'

// count(*) and sums are bigint, which pg gives as text; ours stay far below 2^53.
const types = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === pg.types.builtins.INT8 || oid === pg.types.builtins.NUMERIC
      ? Number
      : pg.types.getTypeParser(oid, format),
}

/** How many of so many connections those who write together take at the most: of the smallest pool one is left for who reads. */
export const writersOf = (connections: number) =>
  Math.min(limits.postgresWriters, Math.max(1, connections >> 1))

export interface PostgresPool {
  readonly db: Db
  /** Takes a connection for a transaction or several; what is sent over it is sent at once. */
  take(): Promise<Connection>
  /** Does `work` in a serializable transaction, again and again where it meets another. */
  write<T>(work: (db: WriteDb) => Promise<T>, written: Written): Promise<T>
  /** As `write`, for what one process at a time does: gives undefined where another is at it. What is told by it nobody waits for. */
  writeInTurn<T>(work: (db: WriteDb) => Promise<T>, writeLeft: Written['writeLeft']): Promise<T | undefined>
  /** Does `turn` where no other process is at one; gives undefined where one is. */
  alone<Found, Made>(
    turn: Turn<Found, Made>,
    committed: (notices: Notices) => void,
  ): Promise<Made | undefined>
  /** Has `work` read what is committed by now, and nothing after it, for as long as it takes. */
  snapshot<T>(work: (db: Db) => Promise<T>): Promise<T>
  /** Sends each payload to everybody who listens on the channel. */
  notify(channel: string, payloads: readonly string[]): Promise<void>
  close(): Promise<void>
}

/** The advisory lock of who writes in turn. */
const turnLock = 0x7475726e

/**
 * Opens a pool of at most so many connections on `url` (postgres://…). What it can not ask throws StorageUnreachable.
 * @param outage as of `reachedOver`
 * @param queryMs how long an answer may take; 0: as long as it takes
 */
export function openPostgres(
  url: string,
  connections: number,
  outage: Pick<Reaching, 'hold' | 'judge' | 'failed'> = {},
  queryMs: number = limits.postgresQueryMs,
): PostgresPool {
  const pool = reachedOver({
    url,
    ...outage,
    options: {
      max: connections,
      types,
      application_name: 'mailboxd',
      // A connection through which nothing comes back is given up, so that nobody waits for a machine that is gone.
      query_timeout: queryMs,
      // Ended by the server as well, which goes on with what a client gives up; whatever others have set for this role.
      statement_timeout: statementTimeout(queryMs),
      // Ended by the server, so that it is known that nothing was done: what a client gives up goes on there, and is committed when the lock goes.
      // Writes wait for a moment alone (../transactions).
      lock_timeout: limits.postgresLockWaitMs,
      // A process that stands still in a transaction keeps others waiting for so long at the most.
      idle_in_transaction_session_timeout: limits.postgresIdleMs,
    },
  })
  const connect = pool.connect as unknown as () => Promise<Client>
  const ask = askTogether(connect)
  const db = handleOver(pool, ask)
  const take = () => takeConnection(connect)
  const writeSerially = createSerialWrites({
    take,
    connections: Math.max(1, connections - limits.postgresLeftConnections),
  })
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
    async alone(turn, committed) {
      const connection = await take()
      const done = await alone(connection, turn).finally(() => connection.release())
      if (done) committed(done.notices)
      return done?.made
    },
    write: writeSerially,
    writeInTurn: (work, writeLeft) =>
      writeSerially(
        async db => {
          // Of the transaction, so that none that is over keeps others out, however its connection goes on.
          const { rows } = await sql<{ isHeld: boolean }>`
            select pg_try_advisory_xact_lock(${sql.lit(turnLock)}) as "isHeld"`.execute(db)
          return rows[0]!.isHeld ? work(db) : undefined
        },
        { writeLeft, committed() {} },
      ),
  }
}
