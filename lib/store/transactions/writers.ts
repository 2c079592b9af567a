import { setTimeout as pause } from 'node:timers/promises'
import { limits } from '../../base/limits.ts'
import { StorageContended } from '../../base/storage-fault.ts'
import type { WriteDb } from '../dialect/dialect.ts'
import type { Held } from '../dialect/held.ts'
import type { Notices } from '../dialect/notices.ts'
import { namesOf } from './chains.ts'
import type { Connection } from './connection.ts'
import { isLockKept, mayRepeat, restAfter, type Written } from './serial.ts'
import { createSetAside } from './set-aside.ts'
import { LeftFailed, type SharedWrite, Told, transactTogether, Untold } from './shared.ts'

/** How many writes share one transaction at the most. */
const writesPerTransaction = 64

/** A write that has said what it holds. */
interface Asked extends SharedWrite {
  readonly names: readonly string[]
  readonly sinceMs: number
  /** How often it was undone: then it has a transaction of its own. */
  readonly tried: number
}

/** A write that is asked what it holds when it may begin. */
type Unasked = Omit<Asked, 'held' | 'names'> & { readonly asks: () => Held }

export interface Writers {
  /**
   * Does `work` in a transaction with others that wait, READ COMMITTED, once it has what is to be held.
   * @throws StorageContended where somebody keeps that locked for `limits.postgresLockWaitMs`; at once where it is divisible
   */
  write<T>(held: () => Held, work: (db: WriteDb) => Promise<T>): Promise<T>
  /** Resolves when nothing is waiting or under way. */
  idle(): Promise<void>
}

export interface WritersParts extends Written {
  take(): Promise<Connection>
  /** How many connections it takes at the most, and one more for a moment while something is locked. */
  readonly connections: number
  /** Called after each transaction that was committed: how many writes it was, and how long it took. */
  transacted(writes: number, tookMs: number): void
  monotonicMs(): number
}

/**
 * Writes that wait go into one transaction of one of a few connections, as on SQLite; one that throws is undone alone. What they hold is locked first, by one statement and in one order, so that none of two groups waits for the other.
 * One that meets another transaction all the same is undone, and each of its writes is done again alone. One that waits for a lock for longer than a moment is undone as
 * well, and its writes are set aside: each is tried alone, again and again, beside those that hold nothing of it. What is under way over one connection is not
 * waited for over another: who holds something of it waits here, for its place in the order.
 */
export function createWriters(parts: WritersParts): Writers {
  const { take, connections, writeLeft, committed, transacted, monotonicMs } = parts
  const waiting: (Unasked | Asked)[] = []
  const lanes = new Set<Promise<void>>()
  /** What is held by transactions that are under way. */
  const underWay = new Set<string>()
  const aside = createSetAside<Asked>(monotonicMs)
  let trying: Promise<void> | undefined
  let resting = 0
  /** How many writes have savepoints from now on, because one has thrown: most do not, and a savepoint is two statements. */
  let careful = 0
  let lastBegan = 0
  let isLater = false
  /** Whether one of the lanes has not taken anything yet. */
  let isStarting = false

  function wake(): void {
    if (waiting.length === 0 || isStarting || lanes.size >= connections) return
    const besideMs = lanes.size === 0 ? 0 : lastBegan + limits.postgresBesideMs - monotonicMs()
    if (besideMs > 0) {
      if (!isLater) setTimeout(wakeLater, besideMs)
      isLater = true
      return
    }
    if (!waiting.some(mayBegin)) return
    isStarting = true
    const lane: Promise<void> = writeWaiting().finally(() => {
      isStarting = false
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

  /** Whether it is not known to hold something that is under way. */
  const mayBegin = (one: Unasked | Asked) => !('names' in one) || !one.names.some(name => underWay.has(name))

  async function writeWaiting(): Promise<void> {
    // After the callbacks of this turn of the event loop, so that writes of many sessions meet in one transaction.
    await new Promise<void>(resolve => setImmediate(resolve))
    if (!waiting.some(mayBegin)) return
    let connection: Connection
    try {
      connection = await take()
    } catch (error) {
      for (const { reject } of waiting.splice(0)) reject(error)
      return
    }
    try {
      for (let batch = takeSome(); batch.length > 0; batch = takeSome()) {
        isStarting = false
        lastBegan = monotonicMs()
        const written = write(connection, batch, limits.postgresLockTryMs, setAside)
        // For what is not among them, should it take long.
        wake()
        await written
      }
    } catch (error) {
      // The connection may be broken; who waits is told by the next one that is taken.
      void error
    } finally {
      connection.release()
    }
  }

  /** Takes those that may go together now, in their order: who holds what is under way waits, and those behind him that hold something of it. */
  function takeSome(): Asked[] {
    const begun: Asked[] = []
    const suspects: Asked[] = []
    const left: Asked[] = []
    const heldBefore = new Set<string>()
    let seen = 0
    while (seen < waiting.length && begun.length < writesPerTransaction && !begun[0]?.tried) {
      const one = ask(waiting[seen++]!)
      if (!one) continue
      const { names, tried } = one
      const isLeft =
        (tried > 0 && begun.length > 0) || names.some(name => underWay.has(name) || heldBefore.has(name))
      if (aside.isSuspect(names)) suspects.push(one)
      else if (!isLeft) begun.push(one)
      else {
        left.push(one)
        for (const name of names) heldBefore.add(name)
      }
    }
    waiting.splice(0, seen, ...left)
    setAside(suspects)
    return begun
  }

  function ask(one: Unasked | Asked): Asked | undefined {
    if ('names' in one) return one
    const { asks, ...write } = one
    try {
      const held = asks()
      return { ...write, held, names: namesOf(held) }
    } catch (error) {
      one.reject(error)
      return undefined
    }
  }

  function setAside(begun: readonly Asked[]): void {
    for (const one of begun) {
      if (one.held.isDivisible) one.reject(keptLocked())
      else aside.add(one)
    }
    if (aside.size > 0)
      trying ??= tryAside().finally(() => {
        trying = undefined
        if (aside.size > 0) setAside([])
      })
  }

  /** Tries those that are set aside one after the other, over a connection that others have while they rest. */
  async function tryAside(): Promise<void> {
    while (aside.size > 0) {
      for (const one of aside.late()) end(one, keptLocked())
      const due = aside.next(underWay)
      if (typeof due === 'number') {
        if (aside.size > 0) await pause(Math.min(due, limits.postgresLockRestMs))
        continue
      }
      const taken = await take().then(
        connection => ({ connection }),
        error => ({ error }),
      )
      // A lane may have begun what holds something of it while a connection was waited for.
      const next = aside.next(underWay)
      if ('error' in taken) {
        if (typeof next !== 'number') end(next, taken.error)
        continue
      }
      const { connection } = taken
      try {
        if (typeof next !== 'number')
          await write(connection, [next], limits.postgresLockAgainMs, () => aside.rest(next))
      } catch (error) {
        // The connection may be broken; who waited for it has been told.
        void error
      } finally {
        connection.release()
      }
    }
  }

  function end(one: Asked, error: unknown): void {
    aside.remove(one)
    one.reject(error)
  }

  /**
   * @param lockMs how long a statement waits for a lock
   * @param locked called where that was too short
   * @throws where the connection is not to be used again; whoever waited for the batch has been told
   */
  async function write(
    connection: Connection,
    batch: readonly Asked[],
    lockMs: number,
    locked: (batch: readonly Asked[]) => void,
  ): Promise<void> {
    const began = monotonicMs()
    const names = batch.flatMap(one => one.names)
    for (const name of names) underWay.add(name)
    const over = () => {
      for (const name of names) underWay.delete(name)
    }
    const notices: Notices = new Map()
    let settle: (() => void)[]
    try {
      const isCareful = batch.length > 1 && careful > 0
      if (isCareful) careful -= batch.length
      settle = await transactTogether(connection, batch, { notices, lockMs, isCareful, writeLeft })
    } catch (error) {
      const undone = await connection.send('rollback').then(
        () => true,
        () => false,
      )
      over()
      const [one] = batch
      const isLocked = isLockKept(error)
      if (!isLocked) for (const known of batch) aside.remove(known)
      if (isLocked) locked(batch)
      else if (mayRepeat(error, one!.tried)) repeat(batch)
      else if (error instanceof LeftFailed && batch.length > 1) repeat(batch)
      else if (error instanceof Untold) {
        careful = 2 * writesPerTransaction
        waiting.unshift(...batch)
      } else for (const { reject } of batch) reject(error instanceof Told ? error.cause : error)
      wake()
      if (!undone) throw error
      return
    }
    over()
    transacted(batch.length, monotonicMs() - began)
    for (const one of batch) {
      aside.remove(one)
      if (aside.isSuspect(one.names)) waiting.push(...aside.free(one))
    }
    committed(notices)
    for (const one of settle) one()
    wake()
  }

  /** Has each done again, alone, after a pause. */
  function repeat(batch: readonly Asked[]): void {
    resting++
    void restAfter(batch[0]!.tried).then(() => {
      resting--
      waiting.unshift(...batch.map(one => ({ ...one, tried: one.tried + 1 })))
      wake()
    })
  }

  return {
    write: (held, work) =>
      new Promise((resolve, reject) => {
        const sinceMs = monotonicMs()
        waiting.push({
          work,
          asks: held,
          sinceMs,
          tried: 0,
          resolve: value => resolve(value as never),
          reject,
        })
        wake()
      }),
    async idle() {
      while (lanes.size > 0 || waiting.length > 0 || resting > 0 || trying) {
        await Promise.all([...lanes, trying])
        await new Promise<void>(resolve => setImmediate(resolve))
      }
    },
  }
}

/** What is told of a lock that was not to be had. */
const keptLocked = () => new StorageContended(new Error('others keep locked what it needs'), '55P03')
