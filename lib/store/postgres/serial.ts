import { randomInt } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { limits } from '../../base/limits.ts'
import type { WriteDb } from '../dialect/dialect.ts'
import { gatherRows, type LeftRows, noRows } from '../dialect/left-rows.ts'
import { gatherNotices, type Notices } from '../dialect/notices.ts'
import { type Connection, isOfOldPlan } from './connection.ts'

/** A transaction that met another is done again this often before its failure is told. */
const retries = 20
/** From this time on it is done while nobody writes together: rows that are changed all the time would never let it through. */
const retriesBeside = 3

/** The advisory lock that all hold in common who write together, and who is alone holds for itself. */
export const togetherLock = 0x746f6765

export interface Written {
  /** Writes what the writes of a transaction left to its end. */
  writeLeft(db: WriteDb, left: LeftRows): Promise<void>
  /** Called after the commit, with what the writes gave notice of. */
  committed(notices: Notices): void
}

/**
 * Does a write in a serializable transaction of its own, and again where it met another, each time after a somewhat longer pause.
 * @throws StorageContended where it met others each time
 */
export async function writeSerially<T>(
  take: () => Promise<Connection>,
  work: (db: WriteDb) => Promise<T>,
  { writeLeft, committed }: Written,
): Promise<T> {
  for (let tried = 0; ; tried++) {
    const connection = await take()
    try {
      const isAlone = tried > retriesBeside
      // Before the transaction, which sees what is committed when it first asks.
      if (isAlone) await connection.send('select pg_advisory_lock($1)', [togetherLock])
      try {
        const notices: Notices = new Map()
        const value = await transact(connection, 'serializable', async db => {
          gatherNotices(db, notices)
          const left = noRows()
          gatherRows(db, left)
          const made = await work(db)
          await writeLeft(db, left)
          return made
        })
        committed(notices)
        return value
      } finally {
        if (isAlone) await connection.send('select pg_advisory_unlock($1)', [togetherLock]).catch(() => {})
      }
    } catch (error) {
      if (!mayRepeat(error, tried)) throw error
    } finally {
      connection.release()
    }
    await restAfter(tried)
  }
}

/** Who met each other would meet again. */
export async function restAfter(tried: number): Promise<void> {
  await pause(randomInt(Math.min(2 ** tried, limits.postgresConflictMs)))
}

/** Does work in a transaction, which is undone where the work throws. */
async function transact<T>(
  { db, send }: Connection,
  isolation: 'serializable' | 'read committed',
  work: (db: WriteDb) => Promise<T>,
): Promise<T> {
  await send(`begin isolation level ${isolation}`)
  try {
    const value = await work(db)
    await commit(send)
    return value
  } catch (error) {
    await send('rollback').catch(() => {})
    throw error
  }
}

/** @throws where the server undid it instead: a statement had failed, whoever was told of that */
export async function commit(send: Connection['send']): Promise<void> {
  const { command } = await send('commit')
  if (command !== 'COMMIT') throw new Error('the transaction was undone: a statement in it had failed')
}

/**
 * serialization_failure, deadlock_detected, and a plan of before a change of the schema: the transaction did nothing, and doing it again is
 * right.
 */
function isConflict(error: unknown): boolean {
  return hasCode(error, ['40001', '40P01']) || isOfOldPlan(error)
}

/** Whether a row came or went since it was looked for (unique_violation, foreign_key_violation), as one may where writes are not serial. */
function isLateRow(error: unknown): boolean {
  return hasCode(error, ['23505', '23503'])
}

/** How often what found a row that it had not seen, or none where it had, is done again: then it sees what is committed. */
const repeatsOfLateRows = 3

/** Whether a transaction that failed so is done again, after it was done again `tried` times. */
export function mayRepeat(error: unknown, tried: number): boolean {
  return tried < (isLateRow(error) ? repeatsOfLateRows : isConflict(error) ? retries : 0)
}

function hasCode(error: unknown, codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code))
}
