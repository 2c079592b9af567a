import { randomInt } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { Kysely, PostgresDialect, sql } from 'kysely'
import pg from 'pg'
import { limits } from '../../base/limits.ts'
import type { Db, WriteDb } from '../dialect/dialect.ts'
import { gatherRows, type LeftRows, noRows } from '../dialect/left-rows.ts'
import { gatherNotices, type Notices } from '../dialect/notices.ts'
import type { Tables } from '../tables.ts'
import { type Reaching, reachedOver } from './reached.ts'

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
 * @param outage as of `reachedOver`
 * @param queryMs how long an answer may take; 0: as long as it takes
 */
export function openPostgres(
  url: string,
  connections: number,
  outage: Pick<Reaching, 'hold' | 'failed'> = {},
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
      // A process that stands still in a transaction keeps others waiting for so long at the most.
      idle_in_transaction_session_timeout: limits.postgresIdleMs,
    },
  })
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })
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
      writeOn(
        db,
        async transaction => {
          // Of the transaction, so that none that is over keeps others out, however its connection goes on.
          const { rows } = await sql<{ isHeld: boolean }>`
            select pg_try_advisory_xact_lock(${sql.lit(turnLock)}) as "isHeld"`.execute(transaction)
          return rows[0]!.isHeld ? work(transaction) : undefined
        },
        writeLeft,
        () => {},
      ),
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

/** serialization_failure and deadlock_detected: the transaction did nothing, and doing it again is right. */
function isConflict(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === '40001' || error.code === '40P01')
}
