import type { Clock } from '../base/clock.ts'
import { limits } from '../base/limits.ts'
import type { WriteDb } from '../store/dialect/dialect.ts'
import type { Store } from '../store/open.ts'
import { findDueEntries, hasDueEntry, setAsideEntries } from '../store/queue-entries.ts'
import { listParked } from '../store/queue-turns.ts'
import type { QueueEntryRow } from '../store/tables.ts'
import { type Holder, holdOn, isAnothers, lease, type Membership } from './lease.ts'
import type { Kind, Leased, Turns } from './leased.ts'
import { Rotation } from './rotation.ts'

export interface PodTurnsParts {
  readonly store: Store
  readonly clock: Clock
  readonly members: Membership
  readonly kind: Kind
  /** How many entries are worked on at once; of an inbox one. */
  readonly concurrency: number
}

/**
 * What is due begins in turns of pods, and of inboxes in a pod: who has much that is due at the same time waits for itself
 * alone. Where more is due than may begin, it is put in line (parked, all at one destination), in which the turns are told.
 */
export function createPodTurns(parts: PodTurnsParts): Turns {
  const { store, clock, members, kind, concurrency } = parts
  const line = { kind, destination: kind } as const
  const parked = { ...line, state: 'parked' } as const
  const rotation = new Rotation()
  const underWay = new Map<string, Leased>()
  const isBusy = (inboxId: string) => [...underWay.values()].some(entry => entry.inboxId === inboxId)

  /** Puts what is due in line; gives whether there may be more. */
  async function lineUp(db: WriteDb, by: Holder): Promise<boolean> {
    const wanted = { kind, now: by.now.toISOString(), limit: limits.queueLook }
    const due = await findDueEntries(db, store.dialect, wanted)
    const isHeld = (entry: QueueEntryRow) => underWay.has(entry.id) || isAnothers(entry, members)
    for (const entry of due) if (isHeld(entry)) await holdOn(db, entry, by)
    const ids = due.flatMap(entry => (isHeld(entry) ? [] : [entry.id]))
    await setAsideEntries(db, ids, { state: 'parked', destination: line.destination })
    return due.length === wanted.limit
  }

  /** Those that are next in line: first attempts in turns, then what is repeated. */
  async function choose(db: WriteDb, places: number): Promise<QueueEntryRow[]> {
    const chosen: QueueEntryRow[] = []
    const mayBegin = ({ inboxId }: QueueEntryRow) =>
      chosen.length < places && !isBusy(inboxId) && !chosen.some(one => one.inboxId === inboxId)
    // Of each that is under way the inbox may be the next in turn.
    const gathered = await rotation.gather(db, parked, concurrency + places)
    while (chosen.length < places) {
      const next = gathered.next()
      if (next === undefined) break
      if (mayBegin(next)) chosen.push(next)
    }
    const repeated = chosen.length < places ? await listParked(db, line, concurrency + places) : []
    for (const entry of repeated) if (mayBegin(entry)) chosen.push(entry)
    return chosen
  }

  return {
    async claim() {
      for (;;) {
        const places = concurrency - underWay.size
        const by = { node: members.holder, now: clock.now() }
        const wanted = { kind, now: by.now.toISOString(), limit: 1 }
        if (places <= 0) return []
        const isDue = await hasDueEntry(store.read, wanted)
        if (!isDue && (await listParked(store.read, line, 1)).length === 0) return []
        // No fsync: a lease that is lost with the power is one that nobody holds any more.
        const { isMore, begun } = await store.writeUnsynced(async db => {
          const isMore = await lineUp(db, by)
          const chosen = isMore ? [] : await choose(db, places)
          const beginning = chosen.map(entry => ({ entry, destination: line.destination }))
          return { isMore, begun: await lease(db, beginning, by) }
        })
        if (isMore) continue
        for (const entry of begun) underWay.set(entry.id, entry)
        return begun
      }
    },
    async end({ id }) {
      underWay.delete(id)
    },
  }
}
