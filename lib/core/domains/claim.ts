import type { WriteDb } from '../../store/dialect/dialect.ts'
import { findDomainClaim, listOtherClaimants, updateDomain } from '../../store/domains.ts'
import { sweepRows } from '../../store/sweeps.ts'
import type { DomainRow } from '../../store/tables.ts'

/**
 * Whether another row has the name, so that this one can't be verified. One that was verified and whose records were found
 * to be gone gives its name up to the next who is verified; one that is under review keeps it.
 */
export async function isTaken(db: WriteDb, row: DomainRow): Promise<boolean> {
  const claim = await findDomainClaim(db, row.domain)
  return claim !== undefined && claim.id !== row.id && claim.status !== 'failed'
}

/**
 * Clears the way for a row that is being verified, in that write: who had the name before has it no more (the database lets
 * only one have it), and the others are told that it is taken.
 * @returns those whose state changed by it
 */
export async function takeClaim(db: WriteDb, row: DomainRow, now: string): Promise<DomainRow[]> {
  const before = await findDomainClaim(db, row.domain)
  if (before && before.id !== row.id) await updateDomain(db, before.id, { verifiedAt: null, updatedAt: now })
  const changed: DomainRow[] = []
  // Who comes after these is told by their own next check.
  for (const other of await listOtherClaimants(db, row, sweepRows)) {
    const changes = { status: 'failed', problem: 'domain_taken', updatedAt: now }
    await updateDomain(db, other.id, changes)
    if (other.status === 'pending') changed.push({ ...other, ...changes })
  }
  return changed
}
