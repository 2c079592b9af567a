import { type Clock, isoAfter } from '../base/clock.ts'
import type { Ids } from '../base/ids.ts'
import { limits } from '../base/limits.ts'
import type { WriteDb } from '../store/dialect/dialect.ts'
import { notice } from '../store/dialect/notices.ts'
import type { Store } from '../store/open.ts'
import * as entries from '../store/queue-entries.ts'
import type { QueueEntryRow } from '../store/tables.ts'
import { nextAttemptAfterMs } from './backoff.ts'

/** What is done by way of the queue. */
const kinds = ['delivery', 'draft', 'webhook'] as const
export type Kind = (typeof kinds)[number]

/** Something to be done, as it is put. `destination` is what concurrency is counted by. */
export interface Work {
  readonly kind: Kind
  readonly subjectId: string
  readonly destination: string
  /** When it is first to be done; at once unless said. */
  readonly dueAt?: string
  /** When it is given up, tried or not. */
  readonly expiresAt: string
}

/** An entry that this process holds the lease of. */
export type Leased = QueueEntryRow

/**
 * Knows when things are to be done, and never what. All changes run in the caller's write. A function that ends a lease
 * gives false when another process holds it by now: then the caller's write must not happen (throw `LeaseLost`).
 */
export interface Queue {
  put(db: WriteDb, work: readonly Work[]): Promise<void>
  /**
   * Leases what is due, at most `limit` and for no destination more than it has room for, the longest due first. What
   * a destination has no room for is parked until it has.
   */
  claim(kind: Kind, options: { limit: number; room: (destination: string) => number }): Promise<Leased[]>
  /** It is over, well or badly. */
  done(db: WriteDb, entry: Leased): Promise<void>
  /** What was put for this subject is not to be done any more; whoever holds its lease has lost it. */
  drop(db: WriteDb, subjectId: string): Promise<void>
  /** It is to be tried again after so long, or by the schedule of its kind; gives when. */
  later(db: WriteDb, entry: Leased, afterMs?: number): Promise<string>
  /** Whatever time it is due, it is not to be done until it is released; gives false for one that is under way. */
  hold(db: WriteDb, subjectId: string): Promise<boolean>
  /** The same for one that was claimed and not tried: the lease ends, and no attempt is counted. */
  holdLeased(db: WriteDb, entry: Leased): Promise<void>
  /** What was held is to be done again, and given up at `expiresAt`; gives when it is due. */
  release(db: WriteDb, subjectId: string, expiresAt: string): Promise<string | null>
  /** The attempt met a fault of our own; it is tried again by the schedule. */
  retry(entry: Leased): Promise<void>
  /** Frees what a process of this node held or had parked when it ended; gives how many it held. */
  recover(): Promise<number>
  /** Calls `listener` after new work of this kind was committed in this process; gives the function that ends it. */
  onPut(kind: Kind, listener: () => void): () => void
}

/** The lease ran out and another holds it; nothing that this attempt found may be written. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost'
}

export interface QueueParts {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  /** The name of this node; leases are held in it. */
  readonly node: string
  /** Random numbers in [0, 1), for the jitter of the schedule. */
  readonly random: () => number
  /** The waits between attempts, in milliseconds, of kinds that do not go by the schedule of mail. */
  readonly waits?: Partial<Record<Kind, readonly number[]>>
}

export function createQueue({ store, clock, ids, node, random, waits = {} }: QueueParts): Queue {
  /** The destinations of each kind that have something parked. */
  const parked = new Map<Kind, Set<string>>(kinds.map(kind => [kind, new Set()]))

  const waitMs = ({ kind, attempts }: Leased) => nextAttemptAfterMs(attempts, random(), waits[kind as Kind])

  async function later(db: WriteDb, entry: Leased, afterMs = waitMs(entry)): Promise<string> {
    const dueAt = isoAfter(clock.now(), afterMs)
    if (!(await entries.returnLeasedEntry(db, entry, { dueAt, attempts: entry.attempts })))
      throw new LeaseLost()
    return dueAt
  }

  /** Looks through at most `wanted.limit` entries that are due, leases those that there is room for and parks the others. */
  async function lookOnce(
    db: WriteDb,
    wanted: entries.Wanted,
    freed: readonly string[],
    room: (destination: string) => number,
    now: Date,
  ) {
    const leased: Leased[] = []
    const emptied = new Set<string>()
    const filled = new Set<string>()
    const taken = new Map<string, number>()
    // What was parked comes first, because it has been due for longer.
    for (const destination of freed) {
      const places = room(destination)
      const moved = await entries.unparkEntries(db, { kind: wanted.kind, destination, limit: places })
      if (moved < places) emptied.add(destination)
    }
    for (const entry of await entries.findDueEntries(db, store.dialect, wanted)) {
      const count = taken.get(entry.destination) ?? 0
      if (count >= room(entry.destination)) {
        await entries.parkEntry(db, entry.id)
        filled.add(entry.destination)
        continue
      }
      taken.set(entry.destination, count + 1)
      // Counted and postponed before the network is touched: whatever kills this process now, the entry is not
      // due before its time, and never without the attempt having been counted.
      const attempts = entry.attempts + 1
      const leasedUntil = isoAfter(now, limits.leaseMs)
      const lease = { attempts, leasedBy: node, leasedUntil, dueAt: leasedUntil }
      await entries.leaseEntry(db, entry.id, lease)
      leased.push({ ...entry, ...lease })
    }
    return { leased, emptied, filled }
  }

  return {
    async put(db, work) {
      const now = clock.now().toISOString()
      await entries.insertQueueEntries(
        db,
        work.map(({ kind, subjectId, destination, dueAt = now, expiresAt }) => ({
          id: ids.next(),
          kind,
          subjectId,
          destination,
          state: 'ready',
          dueAt,
          expiresAt,
          attempts: 0,
          leasedBy: null,
          leasedUntil: null,
          createdAt: now,
        })),
      )
      for (const { kind } of work) notice(db, 'queue', kind)
    },

    async claim(kind, { limit, room }) {
      const ofKind = parked.get(kind)!
      for (;;) {
        const now = clock.now()
        const wanted = { kind, now: now.toISOString(), limit }
        const freed = [...ofKind].filter(destination => room(destination) > 0)
        // Looked up on the reader first: a queue with nothing due costs no write.
        if (freed.length === 0 && !(await entries.hasDueEntry(store.read, wanted))) return []
        // No fsync: a lease that is lost with the power is one that nobody holds any more.
        const look = await store.writeUnsynced(db => lookOnce(db, wanted, freed, room, now))
        for (const destination of look.emptied) ofKind.delete(destination)
        for (const destination of look.filled) ofKind.add(destination)
        // All that was found had to be parked; more may be due behind it.
        if (look.leased.length > 0 || look.filled.size === 0) return look.leased
      }
    },

    async done(db, entry) {
      if (!(await entries.deleteLeasedEntry(db, entry))) throw new LeaseLost()
    },

    drop: entries.deleteEntriesOf,

    later,

    hold: entries.holdEntry,

    async holdLeased(db, entry) {
      const next = { dueAt: clock.now().toISOString(), attempts: entry.attempts - 1 }
      if (!(await entries.returnLeasedEntry(db, entry, next))) throw new LeaseLost()
      await entries.holdEntry(db, entry.subjectId)
    },

    async release(db, subjectId, expiresAt) {
      const dueAt = await entries.releaseEntry(db, subjectId, expiresAt)
      notice(db, 'queue', 'delivery')
      return dueAt ?? null
    },

    async retry(entry) {
      await store.write(db => later(db, entry))
    },

    async recover() {
      for (const kind of kinds) {
        const unpark = () => store.write(db => entries.unparkSomeEntries(db, kind, limits.sweepRows))
        while ((await unpark()) > 0);
      }
      return store.write(async db => {
        const now = clock.now()
        const held = await entries.listLeasedEntries(db, node)
        for (const entry of held) {
          // The first attempt that was cut off is repeated at once, before what was put later. One that is cut off
          // again may be what kills the process, so from then on it waits its turn.
          const dueAt = entry.attempts <= 1 ? entry.createdAt : isoAfter(now, waitMs(entry))
          await entries.returnLeasedEntry(db, entry, { dueAt, attempts: entry.attempts })
        }
        return held.length
      })
    },

    onPut: (kind, listener) =>
      store.onCommit('queue', kinds => {
        if (kinds.has(kind)) listener()
      }),
  }
}
