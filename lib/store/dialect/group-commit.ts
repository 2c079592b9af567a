import { setTimeout as pause } from 'node:timers/promises'
import { DiskFailed, StorageLocked } from '../../base/faults.ts'
import { createLoopLoad } from '../../base/threads.ts'
import type { Clock } from '../../base/time.ts'
import type { WriteDb } from './dialect.ts'
import { addRows, gatherRows, type LeftRows, noRows } from './left-rows.ts'
import { addNotices, gatherNotices, type Notices } from './notices.ts'

/** How long a write waits for another program that writes to the database (451 4.3.0, 503 after that). */
export const lockWaitMs = 10_000
/** How long after the begin of a transaction the next one begins, while the event loop is busy and writes come together. */
export const commitRestMs = 4

/** How many writes share one transaction at the most. */
const writesPerTransaction = 64
/** Work after which a transaction takes no further write, for all of it holds the event loop; the rest goes into the next. */
const workMs = 20
/** The same for the bytes that it was given: the commit appends them to the log, which is work as well. */
const bytesPerTransaction = 2 * 1024 * 1024
/**
 * How long it rests until it asks again for the lock that others have: a quarter longer each time, up to the second. The thread of the index gives
 * it back within some milliseconds, and each of them is one that all who wait for this transaction wait longer.
 */
const lockRestMs = [1, 16] as const

/** What a group commit works on. */
export interface CommitTarget {
  readonly db: WriteDb
  /** Writes what the writes of a transaction left to its end. */
  writeLeft(left: LeftRows): Promise<void>
  /** Runs one statement that gives no rows, at once: begin, savepoint, commit. */
  exec(statement: string): void
  /** How many bytes its statements were given to write until now. */
  givenBytes(): number
  /** Whether another connection is writing just now, which is why a transaction did not begin. */
  isLocked(error: unknown): boolean
  /** Called with whether a transaction waits for who is writing. */
  waitsForLock(isWaiting: boolean): void
  /** Whether it failed because the disk did not keep what was written. */
  isDiskFault(error: unknown): boolean
  /** Is asked before each transaction; what it throws refuses all that waits. */
  requireWhole(): void
  /** Resolves when everything that was committed before the call is on the disk. */
  sync(): Promise<void>
}

interface Waiting {
  readonly work: (db: WriteDb) => Promise<unknown>
  /** Whether its promise is kept only when the disk has it. */
  readonly isSynced: boolean
  /** Whether it was undone for what it and others left; then it has a transaction of its own. */
  readonly isAlone?: boolean
  /** When it was asked for. */
  readonly sinceMs: number
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

/** The promise of a write that was done. */
interface Settling {
  readonly isSynced: boolean
  settle(): void
}

/** Who is told what becomes of transactions. */
export interface CommitListeners {
  /** Called after each fsync, with what the writes gave notice of. */
  committed(notices: Notices): void
  /** Called once. */
  failed(error: DiskFailed): void
  /** Called after each transaction that was committed: how many writes it was, and how long it took before the disk. */
  transacted?(writes: number, tookMs: number): void
  /** Called after each fsync. */
  synced?(tookMs: number): void
}

/** When writes wait for company. */
export interface Gathering {
  /** Whether the event loop has so much to do that it is not idle meanwhile. */
  isBusy(): boolean
  rest(ms: number): Promise<unknown>
}

/**
 * All writes that are waiting go into one SQLite transaction. When one throws, all of them are rolled back and done again, each in a
 * savepoint, so that the one alone is undone: hardly any does, and a savepoint is two statements and a copy of each page that is
 * changed. The commit only appends to the write-ahead log; the fsync runs off the event loop, and what is asked for meanwhile waits for the next transaction. A write's promise resolves after the fsync and not before; nothing is built
 * on what an earlier transaction wrote before that was synced. Between two transactions the event loop comes round; while it is busy
 * and writes come together, it does so for `commitRestMs`, because each transaction appends all pages that it touched to the log,
 * and most of them are the same in the next one. Who writes alone waits for nobody.
 *
 * While another process writes, what is waiting goes on waiting, each up to `lockWaitMs`, and all else goes on.
 */
export function createGroupCommit(
  target: CommitTarget,
  clock: Pick<Clock, 'monotonicMs'>,
  { committed, failed, transacted, synced }: CommitListeners,
  gathering: Gathering = { isBusy: createLoopLoad(clock), rest: pause },
) {
  const waiting: Waiting[] = []
  let draining: Promise<void> | undefined
  let failure: DiskFailed | undefined
  /** Of what is committed, and so is read: the fsync under way, or the one that failed. */
  let syncing: Promise<void> | undefined
  /** How many writes have savepoints from now on, because one has thrown. */
  let careful = 0

  async function drain(): Promise<void> {
    do {
      // After the callbacks of this turn of the event loop, so that writes of many sessions meet in one transaction.
      await new Promise<void>(resolve => setImmediate(resolve))
      const began = clock.monotonicMs()
      const writes = await commit()
      const restMs = began + commitRestMs - clock.monotonicMs()
      if (writes > 1 && restMs > 0 && gathering.isBusy()) await gathering.rest(restMs)
    } while (waiting.length > 0)
    draining = undefined
  }

  /** Gives how many writes it was. */
  async function commit(): Promise<number> {
    const batch: Waiting[] = []
    let settle: Settling[]
    const notices: Notices = new Map()
    try {
      settle = await transact(batch, notices)
      if (batch.length === 0) return 0
      for (const one of settle) if (!one.isSynced) one.settle()
      settle = settle.filter(one => one.isSynced)
      if (settle.length === 0) return batch.length
      await syncing
      syncing = undefined
    } catch (error) {
      for (const { reject } of batch) reject(error)
      return batch.length
    }
    committed(notices)
    for (const one of settle) one.settle()
    return batch.length
  }

  async function sync(): Promise<void> {
    const began = clock.monotonicMs()
    await target.sync().catch(error => {
      throw fail(error)
    })
    synced?.(clock.monotonicMs() - began)
  }

  /** After a failed fsync the kernel may have dropped the pages, and a second one would lie. */
  function fail(cause: unknown): DiskFailed {
    if (failure) return failure
    failure = new DiskFailed('the disk failed to keep what was written', { cause })
    failed(failure)
    return failure
  }

  /** Begins a transaction as soon as nobody else is writing; gives whether there is anything left to be written then. */
  async function begin(): Promise<boolean> {
    try {
      return await beginInTurn()
    } finally {
      target.waitsForLock(false)
    }
  }

  async function beginInTurn(): Promise<boolean> {
    for (let restMs: number = lockRestMs[0]; ; restMs = Math.min(restMs * 1.25, lockRestMs[1])) {
      try {
        target.exec('begin immediate')
        return true
      } catch (error) {
        if (!target.isLocked(error)) throw error
        refuseLate(error)
      }
      if (waiting.length === 0) return false
      target.waitsForLock(true)
      await pause(restMs)
    }
  }

  /** Those that have waited too long for the lock. */
  function refuseLate(cause: unknown): void {
    const now = clock.monotonicMs()
    const late = new Set(waiting.filter(one => now - one.sinceMs >= lockWaitMs))
    waiting.splice(0, waiting.length, ...waiting.filter(one => !late.has(one)))
    for (const { reject } of late) reject(new StorageLocked({ cause }))
  }

  /**
   * Takes writes that wait into `batch`, until they are enough, and does them. Their work awaits nothing but queries,
   * which SQLite answers at once: nothing else runs in between.
   */
  async function transact(batch: Waiting[], notices: Notices): Promise<Settling[]> {
    const settle: Settling[] = []
    if (failure) {
      batch.push(...waiting.splice(0))
      throw failure
    }
    try {
      target.requireWhole()
      if (!(await begin())) return settle
    } catch (error) {
      batch.push(...waiting.splice(0, writesPerTransaction))
      throw error
    }
    const began = clock.monotonicMs()
    const end = began + workMs
    const most = target.givenBytes() + bytesPerTransaction
    const left = noRows()
    const isCareful = careful > 0
    try {
      do {
        const one = waiting.shift()!
        batch.push(one)
        const { work, isSynced, resolve, reject } = one
        const own: Notices = new Map()
        const ownRows = noRows()
        gatherNotices(target.db, own)
        gatherRows(target.db, ownRows, left)
        if (isCareful) target.exec('savepoint one')
        try {
          const value = await work(target.db)
          addNotices(notices, own)
          addRows(left, ownRows)
          // What is told must be on the disk.
          settle.push({ isSynced: isSynced || own.size > 0, settle: () => resolve(value) })
        } catch (error) {
          if (!isCareful) return startOver(batch, error)
          undo(error)
          settle.push({ isSynced, settle: () => reject(error) })
        }
        if (isCareful) {
          target.exec('release one')
          careful--
        }
      } while (
        waiting.length > 0 &&
        !batch[0]!.isAlone &&
        !waiting[0]!.isAlone &&
        // What waits for no fsync may find nothing that does.
        (waiting[0]!.isSynced || !batch.at(-1)!.isSynced) &&
        batch.length < writesPerTransaction &&
        clock.monotonicMs() < end &&
        target.givenBytes() < most
      )
      if (!(await writeLeftOf(batch, left))) return []
      target.exec('commit')
      transacted?.(batch.length, clock.monotonicMs() - began)
      if (settle.some(one => one.isSynced)) syncing = sync()
    } catch (error) {
      rollBack(target)
      throw target.isDiskFault(error) ? fail(error) : error
    }
    return settle
  }

  /**
   * The last write of a batch without savepoints has thrown. Where it was the only one it is over; else all of them wait again, and
   * are told apart then.
   */
  function startOver(batch: Waiting[], error: unknown): Settling[] {
    if (target.isDiskFault(error)) throw error
    rollBack(target)
    const [only, ...others] = batch
    if (others.length === 0) return [{ isSynced: false, settle: () => only!.reject(error) }]
    careful = writesPerTransaction
    waiting.unshift(...batch.splice(0))
    return []
  }

  /**
   * Writes what the batch left. Where that fails all of it is undone, and each of its writes is done again, alone: none fails for
   * what another left.
   * @returns whether the transaction goes on; if not, `batch` is empty
   */
  async function writeLeftOf(batch: Waiting[], left: LeftRows): Promise<boolean> {
    try {
      await target.writeLeft(left)
      return true
    } catch (error) {
      if (batch.length === 1) throw error
      rollBack(target)
      waiting.unshift(...batch.splice(0).map(one => ({ ...one, isAlone: true })))
      return false
    }
  }

  /**
   * Takes back what one write did before it failed. Some faults (disk full, I/O) make SQLite roll back the whole
   * transaction; then there is nothing to go back to, and the whole batch fails with what that write met.
   */
  function undo(error: unknown): void {
    try {
      target.exec('rollback to one')
    } catch {
      throw error
    }
  }

  function put<T>(work: (db: WriteDb) => Promise<T>, isSynced: boolean): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const settling = { resolve: (value: unknown) => resolve(value as T), reject }
      const one = { work, isSynced, sinceMs: clock.monotonicMs(), ...settling }
      const before = isSynced ? -1 : waiting.findIndex(other => other.isSynced && !other.isAlone)
      if (before < 0) waiting.push(one)
      else waiting.splice(before, 0, one)
      draining ??= drain()
    })
  }

  return {
    write: <T>(work: (db: WriteDb) => Promise<T>) => put(work, true),
    /**
     * These come before the others of their transaction, so that what they find has reached the disk, and wait for nobody's fsync.
     */
    writeUnsynced: <T>(work: (db: WriteDb) => Promise<T>) => put(work, false),
    /** Waits for the fsync of what can be read now; undefined where it is on the disk already. @throws DiskFailed */
    settled: (): Promise<void> | undefined => syncing,
    /** Writes nothing more: the disk has failed, as somebody else has seen. */
    fail: (cause: unknown) => void fail(cause),
    /** Resolves when nothing is waiting or under way. */
    async idle(): Promise<void> {
      while (draining) await draining
    },
  }
}

function rollBack(target: CommitTarget): void {
  try {
    target.exec('rollback')
  } catch {
    // There is no transaction any more: SQLite rolled it back itself.
  }
}
