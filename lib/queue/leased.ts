import type { QueueEntryRow } from '../store/tables.ts'

/** What is done by way of the queue. */
export const kinds = ['delivery', 'draft', 'webhook'] as const
export type Kind = (typeof kinds)[number]

/** An entry that this process holds the lease of. */
export type Leased = QueueEntryRow

/** How many attempts came to their end, or are about to: those that a crash cut off are none. */
export function attemptsMade({ attempts, cutOffs }: Pick<Leased, 'attempts' | 'cutOffs'>): number {
  return attempts - cutOffs
}

/** The lease ran out and another holds it; nothing that this attempt found may be written. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost'
}

/** Which of what is due may begin, and how many at once. */
export interface Turns {
  /** Leases what may begin now; nothing where there is nothing or no place. Each must be ended. */
  claim(): Promise<Leased[]>
  /** An entry that was claimed is not under way any more; its place is free at once. */
  end(entry: Leased): Promise<void>
}
