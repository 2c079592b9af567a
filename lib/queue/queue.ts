import { setTimeout as pause } from 'node:timers/promises'
import type { Clock } from '../base/clock.ts'
import type { Ids } from '../base/ids.ts'
import { limits } from '../base/limits.ts'
import { isStoragePassing } from '../base/storage-fault.ts'
import { hurryDestinationsThatSaid, isAnyFailingFor } from '../store/destinations.ts'
import type { WriteDb } from '../store/dialect/dialect.ts'
import type { Held } from '../store/dialect/held.ts'
import { notice } from '../store/dialect/notices.ts'
import type { Store } from '../store/open.ts'
import * as entries from '../store/queue-entries.ts'
import { hurryEntry } from '../store/queued-deliveries.ts'
import type { QueueEntryRow } from '../store/tables.ts'
import { dueAgainAt, nextAttemptAfterMs, type WaitBounds } from './backoff.ts'
import { createFairTurns, type FairTurns } from './fair-turns.ts'
import { afterCutOff, type Beginning, holdOn, isAnothers, lease, type Membership } from './lease.ts'
import { attemptsMade, type Kind, kinds, type Leased, LeaseLost, type Turns } from './leased.ts'
import type { Allowance } from './pace.ts'
import { createPodTurns } from './pod-turns.ts'
import { noteShowing, postpone, probeNow, type Showing } from './standing.ts'

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
  /**
   * Leases what is due, at most `limit` and for no destination more than it has room for, the longest due first. What
   * a destination has no room for is parked until it has.
   */
  claim(
    kind: Kind,
    options: {
      limit: number
      room: (destination: string) => number
      /** What this process is carrying already: its lease is renewed, should it look due. */
      underWay?: ReadonlySet<string>
    },
  ): Promise<Leased[]>
  /** The turns of deliveries, which claim by other rules: lib/queue/fair-turns.ts. */
  fairTurns(options: { concurrency: number; allowanceOf: (destination: string) => Allowance }): FairTurns
  /** Turns of pods, for what all of them may have due at the same time: lib/queue/pod-turns.ts. */
  podTurns(kind: Kind, concurrency: number): Turns
  /** Notes what an attempt has shown of its destination, and what was said. */
  /** @param startedAt when the attempt began; now unless given */
  note(db: WriteDb, destination: string, showing: Showing, said: string, startedAt?: Date): Promise<void>
  /** Probes the destinations whose last failure was this, because what it says is over. */
  probeThoseThatSaid(said: string): Promise<void>
  /** Nothing for the destination could be tried, and nothing can for so many milliseconds; what was said of it. */
  postpone(db: WriteDb, destination: string, forMs: number, said: string): Promise<void>
  /** It is over, well or badly. */
  done(db: WriteDb, entry: Leased): Promise<void>
  /** What was put for this subject is not to be done any more; whoever holds its lease has lost it. */
  drop(db: WriteDb, subjectId: string): Promise<void>
  /** It is to be tried again after so long, or by the schedule of its kind, within these bounds, and given up at its `expiresAt`; gives when. */
  later(db: WriteDb, entry: Leased, after?: number | WaitBounds): Promise<string>
  /** Whatever time it is due, it is not to be done until it is released; gives false for one that is under way. */
  hold(db: WriteDb, subjectId: string): Promise<boolean>
  /** The same for one that was claimed and not tried: the lease ends, and no attempt is counted. */
  holdLeased(db: WriteDb, entry: Leased): Promise<void>
  /** It was claimed and not tried: it is due as before, and no attempt is counted. */
  giveBack(db: WriteDb, entry: Leased): Promise<void>
  /** This process broke it off itself, because it stops: what the attempt would have shown is not known, as after a crash. */
  cutOff(db: WriteDb, entry: Leased): Promise<void>
  /** What waits is due now, and its destination is tried now even if it fails: one attempt, and all else if that goes well. */
  hurry(db: WriteDb, entry: Leased): Promise<void>
  /** What was held is to be done again, and given up at `expiresAt`; gives when it is due. */
  release(db: WriteDb, subjectId: string, expiresAt: string): Promise<string | null>
  /**
   * Does the write that ends a lease, and does it again after each outage of the database's server, and while others keep what it changes, until it is known to be done or the
   * lease is lost: what an attempt has found out must not be forgotten, and whether a write was done whose connection ended at its
   * commit nobody knows. The lease is its key: one that was done is not done twice.
   * @param work as of `store.write`; the lease ends in it, by one of the functions above
   * @param held what it holds, where it is one of those that share a transaction
   */
  end<T>(work: (db: WriteDb) => Promise<T>, held?: Held): Promise<T>
  /**
   * Frees what stands in the name of this process and is not among what it works on: leases of whose claim it never heard, and what it
   * could not end. Gives how many.
   */
  freeForgotten(kind: Kind, underWay: ReadonlySet<string>): Promise<number>
  /** Nobody waits for the database's server any more. */
  stop(): void
  /** The attempt met a fault of our own; it is tried again by the schedule. */
  retry(entry: Leased): Promise<void>
  /**
   * Frees what processes held or had parked that have ended: those of before of this node, and of nodes that are gone. Gives how many
   * they held.
   */
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
  /** The destinations of each kind that have something parked. */
  const parked = new Map<Kind, Set<string>>(kinds.map(kind => [kind, new Set()]))

  const waitMs = (entry: Leased, bounds: WaitBounds) =>
    nextAttemptAfterMs(attemptsMade(entry), random(), waits[entry.kind as Kind], bounds)

  function entryOf(work: Work): QueueEntryRow {
    const now = clock.now().toISOString()
    const { kind, subjectId, destination, podId = '-', inboxId = '-', dueAt = now, expiresAt } = work
    return {
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
      podId,
      inboxId,
      cutOffs: 0,
    }
  }

  async function later(db: WriteDb, entry: Leased, after: number | WaitBounds = {}): Promise<string> {
    const afterMs = typeof after === 'number' ? after : waitMs(entry, after)
    const dueAt = dueAgainAt(entry, clock.now(), afterMs)
    if (!(await entries.returnLeasedEntry(db, entry, { ...entry, dueAt }))) throw new LeaseLost()
    return dueAt
  }

  async function giveBack(db: WriteDb, entry: Leased): Promise<void> {
    const attempts = entry.attempts - 1
    const dueAt = attempts === 0 ? entry.createdAt : clock.now().toISOString()
    const next = { ...entry, attempts, dueAt }
    if (!(await entries.returnLeasedEntry(db, entry, next))) throw new LeaseLost()
  }

  /** Looks through at most `wanted.limit` entries that are due, leases those that there is room for and parks the others. */
  async function lookOnce(
    db: WriteDb,
    wanted: entries.Wanted,
    freed: readonly string[],
    { room, underWay }: { room: (destination: string) => number; underWay: ReadonlySet<string> },
    now: Date,
  ) {
    const beginning: Beginning[] = []
    const by = { node: members.holder, now }
    const emptied = new Set<string>()
    const filled = new Map<string, string[]>()
    const taken = new Map<string, number>()
    // What was parked comes first, because it has been due for longer.
    for (const destination of freed) {
      // Less than none, where attempts have begun there since it was asked first: PostgreSQL refuses such a limit, and SQLite has none then.
      const places = Math.max(0, room(destination))
      const moved = await entries.unparkEntries(db, { kind: wanted.kind, destination, limit: places })
      if (moved < places) emptied.add(destination)
    }
    for (const entry of await entries.findDueEntries(db, store.dialect, wanted)) {
      const { id, destination } = entry
      if (underWay.has(id) || isAnothers(entry, members)) {
        await holdOn(db, entry, by)
        continue
      }
      const count = taken.get(destination) ?? 0
      if (count >= room(destination)) {
        const ids = filled.get(destination)
        if (ids) ids.push(id)
        else filled.set(destination, [id])
        continue
      }
      taken.set(destination, count + 1)
      beginning.push({ entry, destination })
    }
    for (const [destination, ids] of filled)
      await entries.setAsideEntries(db, ids, { state: 'parked', destination })
    const leased = await lease(db, beginning, by)
    return { leased, emptied, filled }
  }

  return {
    entryOf,

    async put(db, work) {
      await entries.insertQueueEntries(db, work.map(entryOf))
      for (const { kind } of work) notice(db, 'queue', kind)
    },

    async claim(kind, { limit, room, underWay = new Set() }) {
      const ofKind = parked.get(kind)!
      for (;;) {
        const now = clock.now()
        const wanted = { kind, now: now.toISOString(), limit }
        const freed = [...ofKind].filter(destination => room(destination) > 0).slice(0, limits.sweepRows)
        // Looked up on the reader first: a queue with nothing due costs no write.
        if (freed.length === 0 && !(await entries.hasDueEntry(store.read, wanted))) return []
        // No fsync: a lease that is lost with the power is one that nobody holds any more.
        const look = await store.writeUnsynced(db => lookOnce(db, wanted, freed, { room, underWay }, now))
        for (const destination of look.emptied) ofKind.delete(destination)
        for (const destination of look.filled.keys()) ofKind.add(destination)
        // All that was found had to be parked; more may be due behind it.
        if (look.leased.length > 0 || look.filled.size === 0) return look.leased
      }
    },

    async done(db, entry) {
      if (!(await entries.deleteLeasedEntry(db, entry))) throw new LeaseLost()
    },

    drop: entries.deleteEntriesOf,

    later,

    giveBack,

    async cutOff(db, entry) {
      const next = afterCutOff(entry, clock.now())
      if (!(await entries.returnLeasedEntry(db, entry, next))) throw new LeaseLost()
    },

    fairTurns: options => createFairTurns({ store, clock, members, ...options }),

    podTurns: (kind, concurrency) => createPodTurns({ store, clock, members, kind, concurrency }),

    note: (db, destination, showing, said, startedAt) =>
      noteShowing(db, { clock, random }, destination, showing, said, startedAt),

    async probeThoseThatSaid(said) {
      if (!(await isAnyFailingFor(store.read, said))) return
      await store.write(async db => {
        if (await hurryDestinationsThatSaid(db, said, clock.now().toISOString()))
          notice(db, 'queue', 'delivery')
      })
    },

    postpone: (db, destination, forMs, said) => postpone(db, clock, destination, forMs, said),

    hold: entries.holdEntry,

    async holdLeased(db, entry) {
      await giveBack(db, entry)
      await entries.holdEntry(db, entry.subjectId)
    },

    async hurry(db, { id, kind, destination }) {
      await hurryEntry(db, id, clock.now().toISOString())
      await probeNow(db, clock, destination)
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
          return await (held ? store.writeHolding(() => held, work) : store.write(work))
        } catch (error) {
          if (!isStoragePassing(error) || stopping.signal.aborted) throw error
          await pause(limits.postgresAgainMs, undefined, { signal: stopping.signal }).catch(() => {})
        }
      }
    },

    freeForgotten: (kind, underWay) =>
      store.write(async db => {
        const now = clock.now()
        const held = await entries.listLeasedEntries(db, members.holder)
        const forgotten = held.filter(entry => entry.kind === kind && !underWay.has(entry.id))
        for (const entry of forgotten) await entries.returnLeasedEntry(db, entry, afterCutOff(entry, now))
        return forgotten.length
      }),

    stop: () => stopping.abort(),

    async retry(entry) {
      await store.write(db => later(db, entry))
    },

    async recover() {
      for (const kind of kinds) {
        // What is parked of deliveries is found by its destination.
        if (kind === 'delivery') continue
        // They are many, and nobody waits for them to be moved: those that there is room for are, at each claim.
        for (const one of await entries.listParkedDestinations(store.read, kind)) parked.get(kind)!.add(one)
      }
      const over = (await entries.listHolders(store.read)).filter(members.isOver)
      let freed = 0
      for (const holder of over) {
        freed += await store.write(async db => {
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
