import { isoAfter } from '../base/clock.ts'
import { limits } from '../base/limits.ts'
import type { WriteDb } from '../store/dialect/dialect.ts'
import { leaseEntries, renewLease } from '../store/queue-entries.ts'
import type { QueueEntryRow } from '../store/tables.ts'
import type { Leased } from './leased.ts'

/** Who leases, and when. */
export interface Holder {
  readonly node: string
  readonly now: Date
}

/** An entry that may begin, and where its attempt goes. */
export interface Beginning {
  readonly entry: QueueEntryRow
  readonly destination: string
}

/**
 * Leases entries, in the write that chose them. The attempt is counted and the entry postponed before the network is touched:
 * whatever kills this process now, it is not due before its time, and never without the attempt having been counted. Who
 * held it until now has not come to an end.
 * @returns them as they stand now, in the same order
 */
export async function lease(db: WriteDb, beginning: readonly Beginning[], by: Holder): Promise<Leased[]> {
  const leasedUntil = isoAfter(by.now, limits.leaseMs)
  for (const [destination, some] of Map.groupBy(beginning, one => one.destination)) {
    const ids = some.map(({ entry }) => entry.id)
    await leaseEntries(db, ids, { destination, leasedBy: by.node, leasedUntil })
  }
  return beginning.map(({ entry, destination }) => ({
    ...entry,
    destination,
    leasedBy: by.node,
    leasedUntil,
    dueAt: leasedUntil,
    attempts: entry.attempts + 1,
    cutOffs: entry.cutOffs + (entry.leasedBy === null ? 0 : 1),
    state: 'ready',
  }))
}

/**
 * Goes on holding what this process carries and what looks due all the same, because the clock was moved on: it is its own
 * as long as it carries it.
 */
export async function holdOn(db: WriteDb, entry: QueueEntryRow, { now }: Holder): Promise<void> {
  await renewLease(db, entry, isoAfter(now, limits.leaseMs))
}
