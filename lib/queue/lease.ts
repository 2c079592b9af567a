import { isoAfter } from '../base/clock.ts'
import { limits } from '../base/limits.ts'
import type { WriteDb } from '../store/dialect/dialect.ts'
import { leaseEntries, renewLease } from '../store/queue-entries.ts'
import type { QueueEntryRow } from '../store/tables.ts'
import type { Leased } from './leased.ts'

/** In whose name leases are held, and whose still hold. */
export interface Membership {
  /** The name of this process: another one at each of its starts. */
  readonly holder: string
  /** Whether it may lease more just now. */
  readonly mayLease: boolean
  /** Whether a lease in this name is its own, and no other process may take it for that of one that has ended. */
  holds(leasedBy: string | null): boolean
  /** Whether the process of this name has ended, or is taken for ended by all: it holds nothing any more. */
  isOver(leasedBy: string): boolean
}

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
 * Goes on holding what a process carries and what looks due all the same, because the clock was moved on: it is its own
 * as long as it carries it.
 */
export async function holdOn(db: WriteDb, entry: QueueEntryRow, { now }: Holder): Promise<void> {
  await renewLease(db, entry, isoAfter(now, limits.leaseMs))
}

/** Whether another process holds what looks due. */
export function isAnothers({ leasedBy }: QueueEntryRow, { holder, isOver }: Membership): boolean {
  return leasedBy !== null && leasedBy !== holder && !isOver(leasedBy)
}

/**
 * What was cut off is repeated at once, before what was put later. One that is cut off again may be what kills the process,
 * so from then on it waits a little.
 */
export function afterCutOff(entry: Leased, now: Date): Leased {
  const cutOffs = entry.cutOffs + 1
  const dueAt = cutOffs === 1 ? entry.createdAt : isoAfter(now, limits.cutOffWaitMs)
  return { ...entry, dueAt, cutOffs }
}
