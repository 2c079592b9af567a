import { isoAfter } from '../base/time.ts'
import type { QueueEntryRow } from '../store/tables.ts'
import { cutOffWaitMs } from './backoff.ts'

/** How long a claimed queue entry is its holder's; longer than any attempt may take. */
export const leaseMs = 3_600_000

/** What is done by way of the queue. */
export const kinds = ['delivery', 'draft', 'webhook'] as const
export type Kind = (typeof kinds)[number]

/** An entry that this process holds the lease of. */
export type Leased = QueueEntryRow

/** Returns how many attempts came to their end, or are about to: attempts that a crash cut off do not count. */
export function attemptsMade({ attempts, cutOffs }: Pick<Leased, 'attempts' | 'cutOffs'>): number {
  return attempts - cutOffs
}

/** The lease ran out and another process holds it; nothing that this attempt found may be written. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost'
}

/** In whose name leases are held, and whose still hold. */
export interface Membership {
  /** The name of this process: another one at each of its starts. */
  readonly holder: string
  /** Whether it may lease more just now. */
  readonly mayLease: boolean
  /** Whether a lease in this name is its own, and no other process may take it for that of one that has ended. */
  holds(leasedBy: string | null): boolean
}

/** Returns whether another process holds an entry that looks due. What a process held that has ended is freed (`Queue.recover`). */
export function isAnothers({ leasedBy }: QueueEntryRow, { holder }: Membership): boolean {
  return leasedBy !== null && leasedBy !== holder
}

/**
 * Returns an entry as it is after a lease that started now. The attempt is counted and the entry postponed before the network is
 * touched: whatever kills this process, the entry is not due before its time, and never without the attempt having been counted.
 */
export function asLeased(entry: QueueEntryRow, leasedBy: string, now: Date): Leased {
  const leasedUntil = isoAfter(now, leaseMs)
  return {
    ...entry,
    leasedBy,
    leasedUntil,
    dueAt: leasedUntil,
    attempts: entry.attempts + 1,
    cutOffs: entry.cutOffs + (entry.leasedBy === null ? 0 : 1),
    lane: 'slow',
  }
}

/**
 * Returns an entry as it is after its attempt was cut off: due again before what was put later. An entry that is cut off again
 * may be what kills the process, so from then on it waits a little.
 */
export function afterCutOff(entry: Leased, now: Date): Leased {
  const cutOffs = entry.cutOffs + 1
  if (cutOffs > 1) return { ...entry, dueAt: isoAfter(now, cutOffWaitMs), cutOffs }
  const lane = entry.attempts === 1 ? 'fast' : 'slow'
  return { ...entry, lane, dueAt: entry.createdAt, cutOffs }
}
