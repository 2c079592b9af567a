import { randomInt } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import { together, type WriteDb } from '../dialect/dialect.ts'
import { type Held, holdsNothing } from '../dialect/held.ts'
import { addRows, gatherRows, type LeftRows, noRows } from '../dialect/left-rows.ts'
import { addNotices, gatherNotices, type Notices } from '../dialect/notices.ts'
import { type Connection, isOfOldPlan, type Send } from './connection.ts'
import { hasCode } from './outage.ts'

/** How long a statement waits for what other writes have locked. */
export const postgresLockWaitMs = 2_000
/** The same for a write that may be split. */
const postgresLockTryMs = 400
/** The longest rest of a transaction that met another one, before it is done again. */
const postgresConflictMs = 128
type Work<T> = (db: WriteDb) => Promise<T>

/** How often a write that met another one is tried again. */
const retries = 5

/**
 * Codes of the server by which a transaction did nothing because of others, so that it is right to do it again:
 * serialization_failure, deadlock_detected, lock_not_available; and unique_violation and foreign_key_violation, if a row came or went
 * after the write had looked.
 */
const metOthers = ['40001', '40P01', '55P03', '23505', '23503']

/** What follows the work of a write. */
export interface Written {
  /** Writes what the write left to its end. */
  writeLeft(db: WriteDb, left: LeftRows): Promise<void>
  /** Called after the commit, with what the write gave notice of. */
  committed(notices: Notices): void
}

export interface Writes {
  /**
   * Does works in one transaction, READ COMMITTED, behind what locks what they hold; their statements travel together. A lock is waited
   * for a moment only, and nothing is done again.
   */
  writeTogether(held: Held, works: readonly Work<unknown>[], written: Written): Promise<unknown[]>
  /**
   * Does `work` in a transaction of its own, READ COMMITTED, behind what locks what it holds. It is done again, up to five times, if it met
   * others.
   * @param held asked each time that it begins
   * @param tried how often it was done before, with others
   * @throws StorageContended if it met others each time
   */
  write<T>(held: () => Held, work: Work<T>, written: Written, tried?: number): Promise<T>
  /**
   * Does `work` in a transaction, unless one with this lock is under way anywhere: then it returns undefined, and nothing is done.
   * @param lock the number of an advisory lock
   */
  writeAlone<T>(lock: number, work: (db: WriteDb) => Promise<T>, written: Written): Promise<T | undefined>
}

/** @param most how many transactions are under way at once, so that connections are left for reads */
export function createWrites(take: () => Promise<Connection>, most: number): Writes {
  const waiting: (() => void)[] = []
  let free = most

  async function writeOnce<T>(held: () => Held, works: readonly Work<T>[], written: Written): Promise<T[]> {
    if (free > 0) free--
    else await new Promise<void>(resolve => waiting.push(resolve))
    try {
      const connection = await take()
      try {
        return await transact(connection, held(), works, written)
      } finally {
        connection.release()
      }
    } finally {
      const next = waiting.shift()
      if (next) next()
      else free++
    }
  }

  return {
    writeTogether: (held, works, written) =>
      writeOnce(() => ({ ...held, isDivisible: true }), works, written),
    async write(held, work, written, before = 0) {
      for (let tried = before; ; tried++) {
        let isWhole = true
        const asked = () => {
          const now = held()
          isWhole = !now.isDivisible
          return now
        }
        try {
          const [value] = await writeOnce(asked, [work], written)
          return value!
        } catch (error) {
          if (!hasMetOthers(error) || !isWhole || tried === retries) throw error
        }
        // Two that met each other would meet again.
        await pause(randomInt(Math.min(2 ** (tried + 3), postgresConflictMs)))
      }
    },
    async writeAlone(lock, work, written) {
      const alone = async (db: WriteDb) => {
        const { rows } = await sql<{ isOurs: boolean }>`
          select pg_try_advisory_xact_lock(${lock}) as "isOurs"`.execute(db)
        return rows[0]!.isOurs ? work(db) : undefined
      }
      const [value] = await writeOnce(holdsNothing, [alone], written)
      return value
    },
  }
}

/** Returns whether a transaction did nothing because of others, so that it is right to do it again. */
export const hasMetOthers = (error: unknown) =>
  isOfOldPlan(error) || metOthers.some(code => hasCode(error, code))

/** Does works in a transaction, behind what locks what they hold; if one throws, nothing of them is done. */
async function transact<T>(
  { handles, send }: Connection,
  held: Held,
  works: readonly Work<T>[],
  { writeLeft, committed }: Written,
): Promise<T[]> {
  const notices: Notices = new Map()
  const left = noRows()
  const dbs = handles(works.length)

  async function doOne(work: Work<T>, db: WriteDb): Promise<T> {
    const own: Notices = new Map()
    const ownRows = noRows()
    gatherNotices(db, own)
    gatherRows(db, ownRows, left)
    const value = await work(db)
    addNotices(notices, own)
    addRows(left, ownRows)
    return value
  }

  let values: T[]
  try {
    // If it fails, the next statement that is waited for fails as well.
    send('begin isolation level read committed').catch(() => {})
    // They travel together: the server comes to the works when it has the locks.
    const locking = lockHeld(send, held)
    const working = works.map((work, index) => doOne(work, dbs[index]!))
    await together([locking, ...working])
    values = await Promise.all(working)
    await writeLeft(dbs[0]!, left)
    const { command } = await send('commit')
    // The server undid it instead: a statement had failed whose error the work did not pass on.
    if (command !== 'COMMIT') throw new Error('the transaction was undone: a statement in it had failed')
  } catch (error) {
    await send('rollback').catch(() => {})
    throw error
  }
  committed(notices)
  return values
}

/**
 * Locks what a write holds, in one order for all: names, then the rows of inboxes and messages by their ids. It is a statement of its
 * own: what is read after it is what is committed by then.
 */
async function lockHeld(
  send: Send,
  { names = [], inboxes = [], messages = [], isDivisible = false }: Held,
): Promise<void> {
  if (names.length + inboxes.length + messages.length === 0) return
  const sorted = (all: readonly string[]) => [...new Set(all)].sort()
  const waitMs = isDivisible ? postgresLockTryMs : postgresLockWaitMs
  await send(
    // The columns are computed in their order, so the time is set before the first lock.
    `select set_config('lock_timeout', $4, true),
      (select count(pg_advisory_xact_lock(hashtextextended(one, 0))) from unnest($1::text[]) as "all"(one)),
      (select count(*) from (select 1 from "inbox" where "id" = any($2::text[]) order by "id" for no key update) as locked),
      (select count(*) from (select 1 from "message" where "id" = any($3::text[]) order by "id" for no key update) as locked)`,
    [sorted(names), sorted(inboxes), sorted(messages), String(waitMs)],
    'hold',
  )
}
