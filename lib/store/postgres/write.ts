import { randomInt } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import { together, type WriteDb } from '../dialect/dialect.ts'
import { type Held, holdsNothing } from '../dialect/held.ts'
import { gatherRows, type LeftRows, noRows } from '../dialect/left-rows.ts'
import { gatherNotices, type Notices } from '../dialect/notices.ts'
import { type Connection, isOfOldPlan, type Send } from './connection.ts'
import { hasCode } from './outage.ts'

/** How long a statement waits for what other writes have locked. */
export const postgresLockWaitMs = 2_000
/** The same for a write that may be split. */
const postgresLockTryMs = 400
/** The longest rest of a transaction that met another one, before it is done again. */
const postgresConflictMs = 128

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
   * Does `work` in a transaction, READ COMMITTED, after it has locked what it holds. It is done again, up to five times, if it met
   * others.
   * @param held asked each time that it begins
   * @throws StorageContended if it met others each time
   */
  write<T>(held: () => Held, work: (db: WriteDb) => Promise<T>, written: Written): Promise<T>
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

  async function writeOnce<T>(held: () => Held, work: Work<T>, written: Written): Promise<T> {
    if (free > 0) free--
    else await new Promise<void>(resolve => waiting.push(resolve))
    try {
      const connection = await take()
      try {
        return await transact(connection, held(), work, written)
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
    async write(held, work, written) {
      for (let tried = 0; ; tried++) {
        let isWhole = true
        const asked = () => {
          const now = held()
          isWhole = !now.isDivisible
          return now
        }
        try {
          return await writeOnce(asked, work, written)
        } catch (error) {
          const isMet = isOfOldPlan(error) || metOthers.some(code => hasCode(error, code))
          if (!isMet || !isWhole || tried === retries) throw error
        }
        // Two that met each other would meet again.
        await pause(randomInt(Math.min(2 ** (tried + 3), postgresConflictMs)))
      }
    },
    writeAlone: (lock, work, written) =>
      writeOnce(
        holdsNothing,
        async db => {
          const { rows } = await sql<{ isOurs: boolean }>`
            select pg_try_advisory_xact_lock(${lock}) as "isOurs"`.execute(db)
          return rows[0]!.isOurs ? work(db) : undefined
        },
        written,
      ),
  }
}

type Work<T> = (db: WriteDb) => Promise<T>

/** Does work in a transaction, behind what locks what it holds; if it throws, nothing of it is done. */
async function transact<T>(
  { db, send }: Connection,
  held: Held,
  work: Work<T>,
  { writeLeft, committed }: Written,
): Promise<T> {
  const notices: Notices = new Map()
  const left = noRows()
  gatherNotices(db, notices)
  gatherRows(db, left)
  let value: T
  try {
    // If it fails, the next statement that is waited for fails as well.
    send('begin isolation level read committed').catch(() => {})
    // They travel together: the server comes to the work when it has the locks.
    const working = [lockHeld(send, held), (async () => work(db))()] as const
    await together(working)
    value = await working[1]
    await writeLeft(db, left)
    const { command } = await send('commit')
    // The server undid it instead: a statement had failed whose error the work did not pass on.
    if (command !== 'COMMIT') throw new Error('the transaction was undone: a statement in it had failed')
  } catch (error) {
    await send('rollback').catch(() => {})
    throw error
  }
  committed(notices)
  return value
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
