import type { Clock } from '../../base/clock.ts'
import type { WriteDb } from './dialect.ts'
import { addNotices, gatherNotices, type Notices } from './notices.ts'

/** How many writes share one transaction at the most. */
const writesPerTransaction = 64
/** Work after which a transaction takes no further write, for all of it holds the event loop; the rest goes into the next. */
const workMs = 20

/** What a group commit works on. */
export interface CommitTarget {
  readonly db: WriteDb
  /** Runs one statement that gives no rows, at once: begin, savepoint, commit. */
  exec(statement: string): void
  /** Resolves when everything that was committed before the call is on the disk. */
  sync(): Promise<void>
}

interface Waiting {
  readonly work: (db: WriteDb) => Promise<unknown>
  /** Whether its promise is kept only when the disk has it. */
  readonly isSynced: boolean
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

/** The disk failed to keep what was committed; what it holds is not known any more, so nothing more is written. */
export class DiskFailed extends Error {
  override readonly name = 'DiskFailed'
}

/**
 * All writes that are waiting go into one SQLite transaction, each in its own savepoint; one that throws rolls back
 * alone. The commit only appends to the write-ahead log; the fsync runs off the event loop, and what is asked for
 * meanwhile waits for the next transaction. A write's promise resolves after the fsync and not before; nothing is built
 * on what an earlier transaction wrote before that was synced. Between two transactions the event loop comes round.
 * @param committed called after each fsync, with what the writes gave notice of
 */
export function createGroupCommit(
  target: CommitTarget,
  clock: Pick<Clock, 'monotonicMs'>,
  committed: (notices: Notices) => void = () => {},
) {
  const waiting: Waiting[] = []
  let draining: Promise<void> | undefined
  let failure: DiskFailed | undefined

  async function drain(): Promise<void> {
    do {
      // After the callbacks of this turn of the event loop, so that writes of many sessions meet in one transaction.
      await new Promise<void>(resolve => setImmediate(resolve))
      await commit()
    } while (waiting.length > 0)
    draining = undefined
  }

  async function commit(): Promise<void> {
    const batch: Waiting[] = []
    let settle: (() => void)[]
    const notices: Notices = new Map()
    try {
      settle = await transact(batch, notices)
      // What is told must be on the disk.
      if (notices.size === 0 && !batch.some(one => one.isSynced)) {
        for (const one of settle) one()
        return
      }
      await target.sync().catch(error => {
        // After a failed fsync the kernel may have dropped the pages, and a second one would lie.
        failure = new DiskFailed('the disk failed to keep what was written; restart when it is mended', {
          cause: error,
        })
        throw failure
      })
    } catch (error) {
      for (const { reject } of batch) reject(error)
      return
    }
    committed(notices)
    for (const one of settle) one()
  }

  /**
   * Takes writes that wait into `batch`, until they are enough, and does them. Their work awaits nothing but queries,
   * which SQLite answers at once: nothing else runs in between.
   */
  async function transact(batch: Waiting[], notices: Notices): Promise<(() => void)[]> {
    const settle: (() => void)[] = []
    if (failure) {
      batch.push(...waiting.splice(0))
      throw failure
    }
    const end = clock.monotonicMs() + workMs
    try {
      target.exec('begin immediate')
    } catch (error) {
      batch.push(...waiting.splice(0, writesPerTransaction))
      throw error
    }
    try {
      do {
        const one = waiting.shift()!
        batch.push(one)
        const { work, resolve, reject } = one
        const own: Notices = new Map()
        gatherNotices(target.db, own)
        target.exec('savepoint one')
        try {
          const value = await work(target.db)
          addNotices(notices, own)
          settle.push(() => resolve(value))
        } catch (error) {
          // Some faults (disk full, I/O) make SQLite roll back the whole transaction; then this throws too
          // and the whole batch fails, which is the truth.
          target.exec('rollback to one')
          settle.push(() => reject(error))
        }
        target.exec('release one')
      } while (waiting.length > 0 && batch.length < writesPerTransaction && clock.monotonicMs() < end)
      target.exec('commit')
    } catch (error) {
      rollBack(target)
      throw error
    }
    return settle
  }

  function put<T>(work: (db: WriteDb) => Promise<T>, isSynced: boolean): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      waiting.push({ work, isSynced, resolve: value => resolve(value as T), reject })
      draining ??= drain()
    })
  }

  return {
    write: <T>(work: (db: WriteDb) => Promise<T>) => put(work, true),
    /** A transaction of nothing but these is not synced; one that has others in it is, and these wait with them. */
    writeUnsynced: <T>(work: (db: WriteDb) => Promise<T>) => put(work, false),
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
