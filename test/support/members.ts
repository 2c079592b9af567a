import type { Membership } from '../../lib/queue/lease.ts'

/**
 * A process that holds leases as this start of a node; what earlier ones of it held is over.
 * @param gone other holders that have ended, as far as it knows
 */
export function membersOf(node: string, generation = 1, gone: ReadonlySet<string> = new Set()): Membership {
  const holder = `${node}.${generation}`
  return {
    holder,
    mayLease: true,
    holds: leasedBy => leasedBy === holder && !gone.has(holder),
    isOver(leasedBy) {
      const [name, its] = leasedBy.split('.')
      return gone.has(leasedBy) || (name === node && Number(its) < generation)
    },
  }
}
