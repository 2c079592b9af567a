import { Kysely, PostgresDialect, sql } from 'kysely'
import pg from 'pg'
import type { Tables } from '../tables.ts'
import type { Db, WriteDb } from './dialect.ts'
import { gatherRows, type LeftRows, noRows } from './left-rows.ts'
import { gatherNotices, type Notices } from './notices.ts'

const connections = 10
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
  /**
   * Does `work` in a transaction that one connection at a time is in, whichever process it is of; gives undefined where another is in
   * one. What is read in it is what is committed by then.
   */
  alone<T>(work: (db: WriteDb) => Promise<T>, committed: (notices: Notices) => void): Promise<T | undefined>
  close(): Promise<void>
}

/** The advisory lock of who gives events their places. */
const placingLock = 0x706c6163
/** A process that stands still in a transaction keeps others waiting for so long at the most. */
const idleMs = 10_000

/** Opens a pool on `url` (postgres://…). */
export function openPostgres(url: string): PostgresPool {
  const bounds = { idle_in_transaction_session_timeout: idleMs }
  const pool = new pg.Pool({ connectionString: url, max: connections, types, ...bounds })
  // An idle connection that the server closed is no fault of ours; the pool opens another.
  pool.on('error', () => {})
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })
  return {
    db,
    close: () => db.destroy(),
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
    async write(work, writeLeft, committed) {
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
        }
      }
    },
  }
}

/** serialization_failure and deadlock_detected: the transaction did nothing, and doing it again is right. */
function isConflict(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === '40001' || error.code === '40P01')
}
