import type { Membership } from '../../lib/queue/lease.ts'

/**
 * A process that holds leases as this start of a node.
 * @param gone holders that have ended
 */
export function membersOf(node: string, generation = 1, gone: ReadonlySet<string> = new Set()): Membership {
  const holder = `${node}.${generation}`
  return {
    holder,
    mayLease: true,
    holds: leasedBy => leasedBy === holder && !gone.has(holder),
  }
}
