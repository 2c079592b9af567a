import { type Clock, isoAfter } from '../base/clock.ts'
import type { Ids } from '../base/ids.ts'
import { limits } from '../base/limits.ts'
import type { Db } from '../store/dialect.ts'
import type { Store } from '../store/open.ts'
import * as entries from '../store/queue-entries.ts'
import type { QueueEntryRow } from '../store/tables.ts'
import { nextAttemptAfterMs } from './backoff.ts'

/** What is done by way of the queue. */
export type Kind = 'delivery' | 'draft'

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
 * Knows when things are to be done, and never what. All changes run in the caller's write, so that they are one with
 * what they belong to; the functions that end a lease give false when it is another's by now, and the caller's write
 * must then not happen (throw `LeaseLost`).
 */
export interface Queue {
  put(db: Db, work: readonly Work[]): Promise<void>
  /** Leases what is due, at most `limit` and for no destination more than it has room for. */
  claim(
    kind: Kind,
    options: { limit: number; busy: readonly string[]; room: (destination: string) => number },
  ): Promise<Leased[]>
  /** It is over, well or badly. */
  done(db: Db, entry: Leased): Promise<void>
  /** What was put for this subject is not to be done any more; whoever holds its lease has lost it. */
  drop(db: Db, subjectId: string): Promise<void>
  /** It is to be tried again at the time that the claim set; gives that time. */
  later(db: Db, entry: Leased): Promise<string>
  /** The attempt met a fault of our own; it is tried again by the schedule. */
  retry(entry: Leased): Promise<void>
  /** Frees what a process of this node held when it was killed. */
  recover(): Promise<number>
  /** Called with the kind after new work of that kind was committed. */
  onPut(listener: (kind: Kind) => void): void
  /** Row first, then tell: call after the commit of what was put. */
  tell(kind: Kind): void
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
}

export function createQueue({ store, clock, ids, node, random }: QueueParts): Queue {
  const listeners: ((kind: Kind) => void)[] = []

  async function later(db: Db, entry: Leased): Promise<string> {
    const dueAt = isoAfter(clock.now(), nextAttemptAfterMs(entry.attempts, random()))
    if (!(await entries.returnLeasedEntry(db, entry, { dueAt, attempts: entry.attempts })))
      throw new LeaseLost()
    return dueAt
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
    },

    async claim(kind, { limit, busy, room }) {
      const now = clock.now()
      const wanted = { kind, now: now.toISOString(), busy, limit }
      // Looked up on the reader first: a queue with nothing due costs no write.
      if (!(await entries.hasDueEntry(store.read, wanted))) return []
      return store.write(async db => {
        const leased: Leased[] = []
        const taken = new Map<string, number>()
        for (const entry of await entries.findDueEntries(db, store.dialect, wanted)) {
          const count = taken.get(entry.destination) ?? 0
          if (count >= room(entry.destination)) continue
          taken.set(entry.destination, count + 1)
          // Counted and postponed before the network is touched: whatever kills this process now, the entry is not
          // due before its time, and never without the attempt having been counted.
          const attempts = entry.attempts + 1
          const leasedUntil = isoAfter(now, limits.leaseMs)
          const lease = { attempts, leasedBy: node, leasedUntil, dueAt: leasedUntil }
          await entries.leaseEntry(db, entry.id, lease)
          leased.push({ ...entry, ...lease })
        }
        return leased
      })
    },

    async done(db, entry) {
      if (!(await entries.deleteLeasedEntry(db, entry))) throw new LeaseLost()
    },

    drop: entries.deleteEntriesOf,

    later,

    async retry(entry) {
      await store.write(db => later(db, entry))
    },

    recover: () =>
      store.write(async db => {
        const now = clock.now()
        const held = await entries.listLeasedEntries(db, node)
        for (const entry of held) {
          // The first attempt that was cut off is repeated at once. One that is cut off again may be what kills
          // the process, so from then on it waits its turn.
          const wait = entry.attempts <= 1 ? 0 : nextAttemptAfterMs(entry.attempts, random())
          await entries.returnLeasedEntry(db, entry, { dueAt: isoAfter(now, wait), attempts: entry.attempts })
        }
        return held.length
      }),

    onPut: listener => {
      listeners.push(listener)
    },
    tell: kind => {
      for (const listener of listeners) listener(kind)
    },
  }
}
