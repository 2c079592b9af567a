import { randomInt } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { limits } from '../../base/limits.ts'
import { together, type WriteDb } from '../dialect/dialect.ts'
import { gatherRows, type LeftRows, noRows } from '../dialect/left-rows.ts'
import { gatherNotices, type Notices } from '../dialect/notices.ts'
import { type Connection, isOfOldPlan } from './connection.ts'
import { createPlaces } from './places.ts'

/** A transaction that met another is done again this often before its failure is told. */
const retries = 20
/** From this time on one comes after the other, on all nodes: who changes the same would meet each other each time. */
const retriesBeside = 3
/** From this time on it is done while nobody writes together: rows that they change all the time would never let it through. */
const retriesTogether = 10

/** The advisory lock of the one that comes after others because it met others so often. */
const afterLock = 0x61667465
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
 * that needs what somebody keeps locked has no connection while it rests, and comes after those that have not met anybody; so does one that met others
 * again and again, of which one is done at a time.
 * @returns throws StorageContended where it met others each time, or too many are before it that did
 */
export function createSerialWrites({
  take,
  connections,
  lockWaitMs = limits.postgresLockWaitMs,
}: SerialParts): WriteSerially {
  const places = createPlaces(connections)
  /** Of those that come one after the other, which wait here for it, so that they have no connection. */
  const turns = createPlaces(1)
  /** How many have met a lock and are not done. */
  let locked = 0

  return async (work, written) => {
    /** From when it first waits for others; it ends the waiting. */
    let late: AbortSignal | undefined
    let isLocked = false
    let leaveTurn: (() => void) | undefined
    try {
      for (let tried = 0; ; ) {
        const leave = await places.enter(late !== undefined)
        let met: unknown
        try {
          const waitMs = locked > 0 ? limits.postgresLockAgainMs : limits.postgresLockTryMs
          return await writeOnce(await take(), work, written, { tried, waitMs })
        } catch (error) {
          met = error
          if (isLockKept(error) && !late?.aborted) {
            if (!isLocked) locked++
            isLocked = true
            late ??= AbortSignal.timeout(lockWaitMs)
          } else if (!mayRepeat(error, tried++)) throw error
        } finally {
          leave()
        }
        await (isLockKept(met) ? pause(limits.postgresLockRestMs) : restAfter(tried))
        if (tried > retriesBeside && !leaveTurn) {
          late ??= AbortSignal.timeout(lockWaitMs)
          leaveTurn = await turns.enterInTime(late)
          if (!leaveTurn) throw met
        }
      }
    } finally {
      leaveTurn?.()
      if (isLocked) locked--
    }
  }
}

interface Try {
  /** How often it was done before. */
  readonly tried: number
  /** How long a statement waits for a lock. */
  readonly waitMs: number
}

async function writeOnce<T>(
  connection: Connection,
  work: (db: WriteDb) => Promise<T>,
  { writeLeft, committed }: Written,
  { tried, waitMs }: Try,
): Promise<T> {
  const notices: Notices = new Map()
  const begin = tried > retriesBeside ? beginAfterOthers : beginBeside
  try {
    const end = begin(connection.send, waitMs, tried > retriesTogether)
    const value = await transact(connection, end, async db => {
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
    connection.release()
  }
}

/** What a transaction begins with has been sent. */
interface BegunTransaction {
  /** Resolves when it may go on. */
  readonly begun: Promise<unknown>
  /** Sends what belongs to its end, behind that. */
  end(): Promise<unknown>
}

const beginSerializable = 'begin isolation level serializable'

function beginBeside(send: Connection['send'], waitMs: number): BegunTransaction {
  // They go with the first that is waited for, which fails where these do.
  for (const text of [beginSerializable, `set local lock_timeout = ${waitMs}`]) send(text).catch(() => {})
  return { begun: Promise.resolve(), end: async () => {} }
}

/**
 * Takes locks before the transaction, which sees what is committed when it first asks, and lets go of them after it. The begin travels with them, and what
 * lets them go with the commit: a process that stands still while it has them stands in a transaction, which the server ends.
 * @param isAlone whether those who write together wait for it, too
 */
function beginAfterOthers(send: Connection['send'], waitMs: number, isAlone: boolean): BegunTransaction {
  // Others are before it for as long as a connection waits for a lock.
  const asked = [send('select pg_advisory_lock($1)', [afterLock])]
  if (isAlone)
    // All others wait behind who waits for this, and one that has it in common may stand still.
    asked.push(
      send(`set lock_timeout = ${limits.postgresTogetherTryMs}`),
      send('select pg_advisory_lock($1)', [togetherLock]),
    )
  // The same is so of rows, while they wait for who is alone.
  asked.push(send(`set lock_timeout = ${isAlone ? limits.postgresLockAgainMs : waitMs}`))
  const begun = Promise.all([...asked, send(beginSerializable)])
  begun.catch(() => {})
  return {
    begun,
    // What was taken outlasts a statement that failed.
    end: () =>
      Promise.all([send('select pg_advisory_unlock_all()'), send('reset lock_timeout')]).catch(() => {}),
  }
}

/** Who met each other would meet again. */
export async function restAfter(tried: number): Promise<void> {
  await pause(randomInt(Math.min(2 ** tried, limits.postgresConflictMs)))
}

/** Does work in a transaction, which is undone where the work throws. */
async function transact<T>(
  { db, send }: Connection,
  { begun, end }: BegunTransaction,
  work: (db: WriteDb) => Promise<T>,
): Promise<T> {
  try {
    await begun
    const value = await work(db)
    await together([commit(send), end()])
    return value
  } catch (error) {
    await Promise.all([send('rollback').catch(() => {}), end()])
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
