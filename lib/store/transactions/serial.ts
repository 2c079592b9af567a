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

export interface SerialParts {
  take(): Promise<Connection>
  /** How many connections they take at the most. */
  readonly connections: number
  /** How long one that met a lock is tried again. */
  readonly lockWaitMs?: number
}

/** Does `work` in a serializable transaction of its own. */
export type WriteSerially = <T>(work: (db: WriteDb) => Promise<T>, written: Written) => Promise<T>

/**
 * Writes that are done each in a serializable transaction of its own, and again where it met another, each time after a somewhat longer pause. One
 * that needs what somebody keeps locked has no connection while it rests, and comes after those that have not met anybody.
 * @returns throws StorageContended where it met others each time
 */
export function createSerialWrites({
  take,
  connections,
  lockWaitMs = limits.postgresLockWaitMs,
}: SerialParts): WriteSerially {
  const places = createPlaces(connections)
  /** How many have met a lock and are not done. */
  let locked = 0

  return async (work, written) => {
    /** From the first lock that was met; it ends the waiting. */
    let late: AbortSignal | undefined
    try {
      for (let tried = 0; ; ) {
        const leave = await places.enter(late !== undefined)
        try {
          const waitMs = locked > 0 ? limits.postgresLockAgainMs : limits.postgresLockTryMs
          return await writeOnce(await take(), work, written, tried > retriesBeside, waitMs)
        } catch (error) {
          if (isLockKept(error) && !late?.aborted) {
            if (!late) locked++
            late ??= AbortSignal.timeout(lockWaitMs)
          } else if (!mayRepeat(error, tried++)) throw error
        } finally {
          leave()
        }
        await (late ? pause(limits.postgresLockRestMs) : restAfter(tried))
      }
    } finally {
      if (late) locked--
    }
  }
}

/** @param isAlone whether nobody else writes together meanwhile */
async function writeOnce<T>(
  connection: Connection,
  work: (db: WriteDb) => Promise<T>,
  { writeLeft, committed }: Written,
  isAlone: boolean,
  waitMs: number,
): Promise<T> {
  const { send } = connection
  try {
    // Before the transaction, which sees what is committed when it first asks.
    if (isAlone) await lockOutOthers(send, waitMs)
    try {
      const notices: Notices = new Map()
      const value = await transact(connection, waitMs, async db => {
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
      if (isAlone) await send('select pg_advisory_unlock($1)', [togetherLock]).catch(() => {})
    }
  } finally {
    connection.release()
  }
}

/** Those who write together wait for who waits for this, so that it is for a moment alone. */
async function lockOutOthers(send: Connection['send'], waitMs: number): Promise<void> {
  send(`set lock_timeout = ${waitMs}`).catch(() => {})
  const locked = send('select pg_advisory_lock($1)', [togetherLock])
  send('reset lock_timeout').catch(() => {})
  await locked
}

/** So many at once; who has to wait comes in his order, those that `enter` calls late behind all others. */
function createPlaces(count: number) {
  const waiting: { readonly come: () => void; readonly isLate: boolean }[] = []
  let free = count
  const leave = () => {
    free++
    const next = waiting.findIndex(({ isLate }) => !isLate)
    const [one] = waiting.splice(Math.max(next, 0), 1)
    if (one) {
      free--
      one.come()
    }
  }
  return {
    async enter(isLate: boolean): Promise<() => void> {
      if (free > 0) free--
      else await new Promise<void>(come => waiting.push({ come, isLate }))
      return leave
    },
  }
}

/** Who met each other would meet again. */
export async function restAfter(tried: number): Promise<void> {
  await pause(randomInt(Math.min(2 ** tried, limits.postgresConflictMs)))
}

/** Does work in a transaction, which is undone where the work throws. */
async function transact<T>(
  { db, send }: Connection,
  waitMs: number,
  work: (db: WriteDb) => Promise<T>,
): Promise<T> {
  // They go with the first that is waited for, which fails where these do.
  for (const text of ['begin isolation level serializable', `set local lock_timeout = ${waitMs}`])
    send(text).catch(() => {})
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

/** Whether it was not done for others keep locked what it needs (lock_not_available). */
export function isLockKept(error: unknown): error is Error {
  return hasCode(error, ['55P03'])
}

function hasCode(error: unknown, codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code))
}
