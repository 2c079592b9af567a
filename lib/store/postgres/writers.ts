import { limits } from '../../base/limits.ts'
import { causeAmong, type WriteDb } from '../dialect/dialect.ts'
import type { Held } from '../dialect/held.ts'
import { addRows, gatherRows, noRows } from '../dialect/left-rows.ts'
import { addNotices, gatherNotices, type Notices } from '../dialect/notices.ts'
import { chainsOf } from './chains.ts'
import type { Connection } from './connection.ts'
import { commit, mayRepeat, restAfter, togetherLock, type Written } from './serial.ts'

/** How many writes share one transaction at the most. */
const writesPerTransaction = 64

interface Waiting {
  readonly work: (db: WriteDb) => Promise<unknown>
  readonly held: () => Held
  /** How often it was undone: then it has a transaction of its own. */
  readonly tried: number
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

export interface Writers {
  /** Does `work` in a transaction with others that wait, READ COMMITTED, once it has what is to be held. */
  write<T>(held: () => Held, work: (db: WriteDb) => Promise<T>): Promise<T>
  /** Resolves when nothing is waiting or under way. */
  idle(): Promise<void>
}

export interface WritersParts extends Written {
  take(): Promise<Connection>
  /** How many connections it takes at the most. */
  readonly connections: number
  /** Called after each transaction that was committed: how many writes it was, and how long it took. */
  transacted(writes: number, tookMs: number): void
  monotonicMs(): number
}

/**
 * Writes that wait go into one transaction of one of a few connections, as on SQLite; one that throws is undone alone. What they hold is locked first, by one statement and in one order, so that none of two groups waits for the other.
 * One that meets another transaction all the same is undone, and each of its writes is done again alone.
 */
export function createWriters(parts: WritersParts): Writers {
  const { take, connections, writeLeft, committed, transacted, monotonicMs } = parts
  const waiting: Waiting[] = []
  const lanes = new Set<Promise<void>>()
  let resting = 0
  /** How many writes have savepoints from now on, because one has thrown: most do not, and a savepoint is two statements. */
  let careful = 0
  let lastBegan = 0
  let isLater = false

  function wake(): void {
    if (waiting.length === 0 || lanes.size >= connections) return
    const besideMs = lanes.size === 0 ? 0 : lastBegan + limits.postgresBesideMs - monotonicMs()
    if (besideMs > 0) {
      if (!isLater) setTimeout(wakeLater, besideMs)
      isLater = true
      return
    }
    lastBegan = monotonicMs()
    const lane: Promise<void> = writeWaiting().finally(() => {
      lanes.delete(lane)
      // What was put while this one ended.
      wake()
    })
    lanes.add(lane)
  }

  function wakeLater(): void {
    isLater = false
    wake()
  }

  async function writeWaiting(): Promise<void> {
    // After the callbacks of this turn of the event loop, so that writes of many sessions meet in one transaction.
    await new Promise<void>(resolve => setImmediate(resolve))
    if (waiting.length === 0) return
    let connection: Connection
    try {
      connection = await take()
    } catch (error) {
      for (const { reject } of waiting.splice(0)) reject(error)
      return
    }
    try {
      while (waiting.length > 0) await write(connection, takeSome())
    } catch (error) {
      // The connection may be broken; who waits is told by the next one that is taken.
      void error
    } finally {
      connection.release()
    }
  }

  function takeSome(): Waiting[] {
    const alone = waiting.findIndex(({ tried }) => tried > 0)
    if (alone === 0) return waiting.splice(0, 1)
    return waiting.splice(0, Math.min(writesPerTransaction, alone < 0 ? waiting.length : alone))
  }

  /** @throws where the connection is not to be used again; whoever waited for the batch has been told */
  async function write(connection: Connection, batch: readonly Waiting[]): Promise<void> {
    const began = monotonicMs()
    lastBegan = began
    const notices: Notices = new Map()
    let settle: (() => void)[]
    try {
      settle = await transactTogether(connection, batch, notices)
    } catch (error) {
      const undone = await connection.send('rollback').then(
        () => true,
        () => false,
      )
      const [one] = batch
      if (mayRepeat(error, one!.tried)) repeat(batch)
      else if (error instanceof LeftFailed && batch.length > 1) repeat(batch)
      else if (error instanceof Untold && undone) {
        careful = 2 * writesPerTransaction
        waiting.unshift(...batch)
      } else for (const { reject } of batch) reject(error instanceof Told ? error.cause : error)
      if (!undone) throw error
      return
    }
    transacted(batch.length, monotonicMs() - began)
    committed(notices)
    for (const one of settle) one()
  }

  /** Has each done again, alone, after a pause. */
  function repeat(batch: readonly Waiting[]): void {
    resting++
    void restAfter(batch[0]!.tried).then(() => {
      resting--
      waiting.unshift(...batch.map(one => ({ ...one, tried: one.tried + 1 })))
      wake()
    })
  }

  /** Gives what keeps the promises of the batch. */
  async function transactTogether(
    { db, send, handles }: Connection,
    batch: readonly Waiting[],
    notices: Notices,
  ): Promise<(() => void)[]> {
    const settle: (() => void)[] = []
    const left = noRows()
    const isShared = batch.length > 1
    const isCareful = isShared && careful > 0
    if (isCareful) careful -= batch.length
    /** Goes with the next statement that is waited for, which fails where this one does. */
    const sendAlong = (text: string) => void send(text).catch(() => {})

    /** @param on a handle that is its own for as long as it takes */
    async function doOne({ work, resolve }: Waiting, on: WriteDb): Promise<void> {
      const own: Notices = new Map()
      const ownRows = noRows()
      gatherNotices(on, own)
      gatherRows(on, ownRows, left)
      const value = await work(on)
      addNotices(notices, own)
      addRows(left, ownRows)
      settle.push(() => resolve(value))
    }

    async function doCarefully(one: Waiting): Promise<void> {
      sendAlong('savepoint one')
      try {
        await doOne(one, db)
      } catch (error) {
        if (mayRepeat(error, 0)) throw error
        await send('rollback to one')
        settle.push(() => one.reject(error))
      }
      sendAlong('release one')
    }

    /** Those of different chains travel together. */
    async function doAll(chains: readonly (readonly Waiting[])[]): Promise<void> {
      const own = handles(chains.length)
      const ended = await Promise.allSettled(
        chains.map(async (chain, index) => {
          for (const one of chain) await doOne(one, own[index]!)
        }),
      )
      const failed = ended.flatMap(one => (one.status === 'rejected' ? [one.reason] : []))
      if (failed.length === 0) return
      const cause = causeAmong(failed)
      throw isShared && !mayRepeat(cause, 0) ? new Untold(cause) : cause
    }

    sendAlong('begin isolation level read committed')
    const helds = batch.map(({ held }) => held())
    await hold(send, helds)
    if (isCareful) for (const one of batch) await doCarefully(one)
    else await doAll(chainsOf(helds).map(chain => chain.map(index => batch[index]!)))
    await writeLeft(db, left).catch(error => {
      throw mayRepeat(error, 0) ? error : new LeftFailed(error)
    })
    await commit(send)
    return settle
  }

  return {
    write: (held, work) =>
      new Promise((resolve, reject) => {
        waiting.push({ work, held, tried: 0, resolve: value => resolve(value as never), reject })
        wake()
      }),
    async idle() {
      while (lanes.size > 0 || waiting.length > 0 || resting > 0) {
        await Promise.all(lanes)
        await new Promise<void>(resolve => setImmediate(resolve))
      }
    },
  }
}

/** What is told by its cause. */
class Told extends Error {
  constructor(cause: unknown) {
    super('a transaction that writes share failed', { cause })
  }
}

/** A write has thrown that has no savepoint: all of its transaction are done again, with savepoints. */
class Untold extends Told {}

/** What the writes of a transaction left failed, for which none of them is to blame before it was done alone. */
class LeftFailed extends Told {}

/**
 * Locks what a batch holds, in the order of its names. It is read after that by statements of their own, which see what is committed by
 * then. Who writes serially changes the rows of the inboxes as well, so it waits, too, or is undone.
 */
async function hold(send: Connection['send'], all: readonly Held[]): Promise<void> {
  const sorted = (names: readonly string[]) => [...new Set(names)].sort()
  const names = sorted(all.flatMap(({ names = [] }) => names))
  const inboxes = sorted(all.flatMap(({ inboxes = [] }) => inboxes))
  const messages = sorted(all.flatMap(({ messages = [] }) => messages))
  await send(
    `select pg_advisory_xact_lock_shared($1::bigint),
      (select count(pg_advisory_xact_lock(hashtextextended(one, 0))) from unnest($2::text[]) as "all"(one)),
      (select count(*) from (select 1 from "inbox" where "id" = any($3::text[]) order by "id" for no key update) as locked),
      (select count(*) from (select 1 from "message" where "id" = any($4::text[]) order by "id" for no key update) as locked)`,
    [togetherLock, names, inboxes, messages],
    'hold',
  )
}
