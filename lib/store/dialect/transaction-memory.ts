import type { WriteDb } from './dialect.ts'

/** What is known in a transaction for as long as it lasts, because nobody else writes meanwhile. */
export interface TransactionMemory {
  /** The newest event, also one of a write that was undone since: ids only go up. */
  lastEventId?: string | undefined
}

const memories = new WeakMap<WriteDb, TransactionMemory>()

/** Forgets what the transaction before this one on the handle knew. */
export function beginMemory(db: WriteDb): void {
  memories.set(db, {})
}

/** Of the transaction under way on the handle. */
export function memoryOf(db: WriteDb): TransactionMemory {
  const known = memories.get(db)
  if (known) return known
  const made = {}
  memories.set(db, made)
  return made
}
