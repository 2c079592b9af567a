import { setTimeout as pause } from 'node:timers/promises'
import { isStoragePassing, postgresAgainMs } from '../base/faults.ts'
import type { Ids } from '../base/ids.ts'
import type { Clock } from '../base/time.ts'
import { listDestinationsThatSaid } from '../store/destinations.ts'
import type { WriteDb } from '../store/dialect/dialect.ts'
import { type Held, holdsNothing } from '../store/dialect/held.ts'
import { notice } from '../store/dialect/notices.ts'
import type { Store } from '../store/open.ts'
import * as entries from '../store/queue-entries.ts'
import { hurryEntry } from '../store/queued-deliveries.ts'
import type { QueueEntryRow } from '../store/tables.ts'
import { dueAgainAt, nextAttemptAfterMs, type WaitBounds } from './backoff.ts'
import {
  DestinationMemory,
  destinationsReleased,
  noteShowing,
  postpone,
  releaseThoseThatSaid,
  type Showing,
  tryNow,
} from './destination-health.ts'
import { FastOrder } from './fast-order.ts'
import { afterCutOff, attemptsMade, type Kind, type Leased, LeaseLost, type Membership } from './lease.ts'
import { createScheduler, type Scheduler, type SchedulerOptions } from './scheduler.ts'

/** Something to be done, as it is put. `destination` is what concurrency is counted by. */
export interface Work {
  readonly kind: Kind
  readonly subjectId: string
  readonly destination: string
  /** Whose places it takes, where places are shared. */
  readonly podId?: string
  readonly inboxId?: string
  /** When it is first to be done; at once unless said. */
  readonly dueAt?: string
  /** When it is given up, tried or not. */
  readonly expiresAt: string
}

/**
 * Knows when things are to be done, and never what. All changes run in the caller's write. A function that ends a lease
 * gives false when another process holds it by now: then the caller's write must not happen (throw `LeaseLost`).
 */
export interface Queue {
  /** What `put` inserts, for who inserts it himself, and gives notice of it. */
  entryOf(work: Work): QueueEntryRow
  put(db: WriteDb, work: readonly Work[]): Promise<void>
  /** Claims what may begin of a kind: lib/queue/scheduler.ts. */
  scheduler(options: SchedulerOptions): Scheduler
  /**
   * Notes what an attempt has shown of its destination, and what was said.
   * @param startedAt when the attempt began; now unless given
   * @returns when the destination is tried next, if it fails
   */
  note(
    db: WriteDb,
    destination: string,
    showing: Showing,
    said: string,
    startedAt?: Date,
  ): Promise<string | undefined>
  /** Has the destinations whose last failure was this tried now, because what it says is over. */
  releaseThoseThatSaid(said: string): Promise<void>
  /** Nothing for the destination could be tried, and nothing can for so many milliseconds; returns until when. */
  postpone(db: WriteDb, destination: string, forMs: number, said: string): Promise<string>
  /** It is over, well or badly. */
  done(db: WriteDb, entry: Leased): Promise<void>
  /** What was put for this subject is not to be done any more; whoever holds its lease has lost it. */
  drop(db: WriteDb, subjectId: string): Promise<void>
  /**
   * It is to be tried again after so long, or by the schedule of its kind, within these bounds, and given up at its `expiresAt`.
   * @param notBefore when its destination is tried next, if that fails
   * @returns when it is due
   */
  later(db: WriteDb, entry: Leased, after?: number | WaitBounds, notBefore?: string): Promise<string>
  /** Whatever time it is due, it is not to be done until it is released; gives false for one that is under way. */
  hold(db: WriteDb, subjectId: string): Promise<boolean>
  /** The same for one that was claimed and not tried: the lease ends, and no attempt is counted. */
  holdLeased(db: WriteDb, entry: Leased): Promise<void>
  /** It was claimed and not tried: no attempt is counted, and it is due as before, or after so long in the slow lane. */
  giveBack(db: WriteDb, entry: Leased, afterMs?: number): Promise<void>
  /** This process broke it off itself, because it stops: what the attempt would have shown is not known, as after a crash. */
  cutOff(db: WriteDb, entry: Leased): Promise<void>
  /** What waits is due now, and its destination is tried now even if it fails. */
  hurry(db: WriteDb, entry: Leased): Promise<void>
  /** What was held is to be done again, and given up at `expiresAt`; gives when it is due. */
  release(db: WriteDb, subjectId: string, expiresAt: string): Promise<string | null>
  /**
   * Does the write that ends a lease, and does it again after each outage of the database's server, and while others keep what it changes, until it is known to be done or the
   * lease is lost: what an attempt has found out must not be forgotten, and whether a write was done whose connection ended at its
   * commit nobody knows. The lease is its key: one that was done is not done twice.
   * @param work as of `store.write`; the lease ends in it, by one of the functions above
   * @param held what it holds
   */
  end<T>(work: (db: WriteDb) => Promise<T>, held: Held): Promise<T>
  /**
   * Frees what stands in the name of this process and is not among what it works on: leases of whose claim it never heard, and what it
   * could not end. Gives how many.
   */
  freeForgotten(kind: Kind, underWay: ReadonlySet<string>): Promise<number>
  /** Nobody waits for the database's server any more. */
  stop(): void
  /** The attempt met a fault of our own; it is tried again by the schedule. */
  retry(entry: Leased): Promise<void>
  /** Frees what processes held that have ended: earlier ones of this node, and of nodes that are gone. Returns how many entries. */
  recover(): Promise<number>
  /** Whether this process may claim anything just now. */
  mayClaim(): boolean
  /** Calls `listener` after new work of this kind was committed in this process; gives the function that ends it. */
  onPut(kind: Kind, listener: () => void): () => void
}

export interface QueueParts {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly members: Membership
  /** Random numbers in [0, 1), for the jitter of the schedule. */
  readonly random: () => number
  /** The waits between attempts, in milliseconds, of kinds that do not go by the schedule of mail. */
  readonly waits?: Partial<Record<Kind, readonly number[]>>
}

export function createQueue({ store, clock, ids, members, random, waits = {} }: QueueParts): Queue {
  const stopping = new AbortController()
  const memory = new DestinationMemory()
  const order = new FastOrder()

  const waitMs = (entry: Leased, bounds: WaitBounds) =>
    nextAttemptAfterMs(attemptsMade(entry), random(), waits[entry.kind as Kind], bounds)

  /** Whether the destinations of its kind are known to answer. Those of webhooks and drafts count as known. */
  const isKnown = (kind: string, destination: string) =>
    kind !== 'delivery' || memory.isKnown(memory.groupOf(destination)) ? 1 : 0

  function entryOf(work: Work): QueueEntryRow {
    const now = clock.now().toISOString()
    const { kind, subjectId, podId = '-', inboxId = '-', dueAt = now, expiresAt } = work
    const destination = kind === 'delivery' ? memory.groupOf(work.destination) : work.destination
    const whose = { podId, inboxId, isKnown: isKnown(kind, destination) }
    const isNow = dueAt <= now
    return {
      id: ids.next(),
      kind,
      subjectId,
      destination,
      lane: isNow ? 'fast' : 'slow',
      ...whose,
      turn: isNow ? order.next(whose) : 0,
      dueAt,
      expiresAt,
      attempts: 0,
      leasedBy: null,
      leasedUntil: null,
      createdAt: now,
      cutOffs: 0,
    }
  }

  /** Ends a lease, and has the entry wait. */
  async function giveTo(db: WriteDb, entry: Leased, next: Partial<Leased>): Promise<void> {
    const { kind, destination } = entry
    const returned = { ...entry, lane: 'slow', isKnown: isKnown(kind, destination), ...next }
    if (!(await entries.returnLeasedEntry(db, entry, returned))) throw new LeaseLost()
  }

  async function later(
    db: WriteDb,
    entry: Leased,
    after: number | WaitBounds = {},
    notBefore = '',
  ): Promise<string> {
    const afterMs = typeof after === 'number' ? after : waitMs(entry, after)
    const atMs = Math.max(clock.now().getTime() + afterMs, Date.parse(notBefore) || 0)
    const dueAt = dueAgainAt(entry, clock.now(), atMs - clock.now().getTime())
    await giveTo(db, entry, { dueAt })
    return dueAt
  }

  async function giveBack(db: WriteDb, entry: Leased, afterMs?: number): Promise<void> {
    const attempts = entry.attempts - 1
    if (afterMs !== undefined) {
      const dueAt = dueAgainAt(entry, clock.now(), afterMs)
      return giveTo(db, entry, { attempts, dueAt })
    }
    const isFirst = attempts === 0
    const dueAt = isFirst ? entry.createdAt : clock.now().toISOString()
    await giveTo(db, entry, { attempts, dueAt, lane: isFirst ? 'fast' : 'slow' })
  }

  return {
    entryOf,

    async put(db, work) {
      await entries.insertQueueEntries(db, work.map(entryOf))
      for (const { kind } of work) notice(db, 'queue', kind)
    },

    async done(db, entry) {
      if (!(await entries.deleteLeasedEntry(db, entry))) throw new LeaseLost()
    },

    drop: entries.deleteEntriesOf,

    later,

    giveBack,

    cutOff: (db, entry) => giveTo(db, entry, afterCutOff(entry, clock.now())),

    scheduler: options => createScheduler({ store, clock, members, memory, order }, options),

    note: (db, destination, showing, said, startedAt) =>
      noteShowing(db, { clock, random }, destination, showing, said, startedAt),

    async releaseThoseThatSaid(said) {
      const release = () => store.write(db => releaseThoseThatSaid(db, clock, said))
      if ((await listDestinationsThatSaid(store.read, said, 1)).length === 0) return
      while ((await release()) === destinationsReleased);
      await store.writeHolding(holdsNothing, async db => notice(db, 'queue', 'delivery'))
    },

    postpone: (db, destination, forMs, said) => postpone(db, clock, destination, forMs, said),

    hold: entries.holdEntry,

    async holdLeased(db, entry) {
      await giveBack(db, entry)
      await entries.holdEntry(db, entry.subjectId)
    },

    async hurry(db, { id, kind, destination }) {
      await hurryEntry(db, id, clock.now().toISOString())
      await tryNow(db, clock, destination)
      notice(db, 'queue', kind)
    },

    async release(db, subjectId, expiresAt) {
      const dueAt = await entries.releaseEntry(db, subjectId, expiresAt)
      notice(db, 'queue', 'delivery')
      return dueAt ?? null
    },

    async end(work, held) {
      for (;;) {
        try {
          return await store.writeHolding(() => held, work)
        } catch (error) {
          if (!isStoragePassing(error) || stopping.signal.aborted) throw error
          await pause(postgresAgainMs, undefined, { signal: stopping.signal }).catch(() => {})
        }
      }
    },

    freeForgotten: (kind, underWay) =>
      store.writeHolding(holdsNothing, async db => {
        const now = clock.now()
        const held = await entries.listLeasedEntries(db, members.holder)
        const forgotten = held.filter(entry => entry.kind === kind && !underWay.has(entry.id))
        for (const entry of forgotten) await entries.returnLeasedEntry(db, entry, afterCutOff(entry, now))
        return forgotten.length
      }),

    stop: () => stopping.abort(),

    async retry(entry) {
      await store.writeHolding(holdsNothing, db => later(db, entry))
    },

    async recover() {
      const over = await entries.listEndedHolders(store.read)
      let freed = 0
      for (const holder of over) {
        freed += await store.writeHolding(holdsNothing, async db => {
          const now = clock.now()
          const held = await entries.listLeasedEntries(db, holder)
          for (const entry of held) await entries.returnLeasedEntry(db, entry, afterCutOff(entry, now))
          for (const kind of new Set(held.map(entry => entry.kind))) notice(db, 'queue', kind)
          return held.length
        })
      }
      return freed
    },

    mayClaim: () => members.mayLease,

    onPut: (kind, listener) =>
      store.onCommit('queue', kinds => {
        if (kinds.has(kind)) listener()
      }),
  }
}
