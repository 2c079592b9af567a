import { causeAmong, type WriteDb } from '../dialect/dialect.ts'
import type { Held } from '../dialect/held.ts'
import { addRows, gatherRows, noRows } from '../dialect/left-rows.ts'
import { addNotices, gatherNotices, type Notices } from '../dialect/notices.ts'
import { chainsOf } from './chains.ts'
import type { Connection } from './connection.ts'
import { commit, isLockKept, mayRepeat, togetherLock, type Written } from './serial.ts'

/** A write that shares a transaction, with what it holds. */
export interface SharedWrite {
  readonly work: (db: WriteDb) => Promise<unknown>
  readonly held: Held
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

interface SharedParts extends Pick<Written, 'writeLeft'> {
  /** Gathers what is to be told after the commit. */
  readonly notices: Notices
  /** How long a statement waits for a lock. */
  readonly lockMs: number
  /** Whether each write has a savepoint, so that one that throws is undone alone. */
  readonly isCareful: boolean
}

/**
 * Does the writes of a batch in one transaction, READ COMMITTED, and commits it.
 * @returns what keeps their promises
 * @throws Untold, LeftFailed, or what others had to do with (`isMet`); then all of it is to be undone
 */
export async function transactTogether(
  { db, send, handles }: Connection,
  batch: readonly SharedWrite[],
  { notices, lockMs, isCareful, writeLeft }: SharedParts,
): Promise<(() => void)[]> {
  const settle: (() => void)[] = []
  const left = noRows()
  const isShared = batch.length > 1
  /** Goes with the next statement that is waited for, which fails where this one does. */
  const sendAlong = (text: string) => void send(text).catch(() => {})

  /** @param on a handle that is its own for as long as it takes */
  async function doOne({ work, resolve }: SharedWrite, on: WriteDb): Promise<void> {
    const own: Notices = new Map()
    const ownRows = noRows()
    gatherNotices(on, own)
    gatherRows(on, ownRows, left)
    const value = await work(on)
    addNotices(notices, own)
    addRows(left, ownRows)
    settle.push(() => resolve(value))
  }

  async function doCarefully(one: SharedWrite): Promise<void> {
    sendAlong('savepoint one')
    try {
      await doOne(one, db)
    } catch (error) {
      if (isMet(error)) throw error
      await send('rollback to one')
      settle.push(() => one.reject(error))
    }
    sendAlong('release one')
  }

  /** Those of different chains travel together, behind what locks what they hold: the server comes to them when it has that. */
  async function doAll(
    holding: Promise<unknown>,
    chains: readonly (readonly SharedWrite[])[],
  ): Promise<void> {
    const own = handles(chains.length)
    const ended = await Promise.allSettled([
      holding,
      ...chains.map(async (chain, index) => {
        for (const one of chain) await doOne(one, own[index]!)
      }),
    ])
    const failed = ended.flatMap(one => (one.status === 'rejected' ? [one.reason] : []))
    if (failed.length === 0) return
    const cause = causeAmong(failed)
    throw isShared && !isMet(cause) ? new Untold(cause) : cause
  }

  sendAlong('begin isolation level read committed')
  const helds = batch.map(({ held }) => held)
  const holding = hold(send, helds, lockMs)
  if (isCareful) {
    await holding
    for (const one of batch) await doCarefully(one)
  } else
    await doAll(
      holding,
      chainsOf(helds).map(chain => chain.map(index => batch[index]!)),
    )
  await writeLeft(db, left).catch(error => {
    throw isMet(error) ? error : new LeftFailed(error)
  })
  // After the answers: what did not even reach the server would not be undone by it.
  await commit(send)
  return settle
}

/** Whether others are why a transaction failed: all of it is done again, whatever its writes are. */
const isMet = (error: unknown) => mayRepeat(error, 0) || isLockKept(error)

/** What is told by its cause. */
export class Told extends Error {
  constructor(cause: unknown) {
    super('a transaction that writes share failed', { cause })
  }
}

/** A write has thrown that has no savepoint: all of its transaction are done again, with savepoints. */
export class Untold extends Told {}

/** What the writes of a transaction left failed, for which none of them is to blame before it was done alone. */
export class LeftFailed extends Told {}

/**
 * Locks what a batch holds, in the order of its names. It is read after that by statements of their own, which see what is committed by
 * then. Who writes serially changes the rows of the inboxes as well, so it waits, too, or is undone.
 */
async function hold(send: Connection['send'], all: readonly Held[], lockMs: number): Promise<void> {
  const sorted = (names: readonly string[]) => [...new Set(names)].sort()
  const names = sorted(all.flatMap(({ names = [] }) => names))
  const inboxes = sorted(all.flatMap(({ inboxes = [] }) => inboxes))
  const messages = sorted(all.flatMap(({ messages = [] }) => messages))
  await send(
    // What is asked first is done first, so how long each of the others waits. Who is alone is alone for a moment, in which nobody else comes to anything either.
    `select pg_advisory_xact_lock_shared($1::bigint), set_config('lock_timeout', $5, true),
      (select count(pg_advisory_xact_lock(hashtextextended(one, 0))) from unnest($2::text[]) as "all"(one)),
      (select count(*) from (select 1 from "inbox" where "id" = any($3::text[]) order by "id" for no key update) as locked),
      (select count(*) from (select 1 from "message" where "id" = any($4::text[]) order by "id" for no key update) as locked)`,
    [togetherLock, names, inboxes, messages, String(lockMs)],
    'hold',
  )
}
