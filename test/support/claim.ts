import type { Kind, Leased } from '../../lib/queue/lease.ts'
import type { Queue } from '../../lib/queue/queue.ts'

/** Leases what is due of a kind: one entry, or as many as `most` for each destination. */
export function claim(queue: Queue, kind: Kind, most = 1): Promise<Leased[]> {
  const allowanceOf = () => ({ concurrency: most, perMinute: 0 })
  const lanes = most === 1 ? { concurrency: 1, slow: 1 } : { concurrency: 4 * most, slow: 2 * most }
  return queue.scheduler({ kind, ...lanes, allowanceOf }).claim()
}
