import { addToDay, type DayCounts } from '../../store/daily-usage.ts'
import type { WriteDb } from '../../store/dialect/dialect.ts'
import { findInbox } from '../../store/inboxes.ts'
import type { MessageRow } from '../../store/tables.ts'

/** Counts what became of a delivery for the inbox that sent it, on the day of `at`; of a deleted inbox nothing is counted. */
export async function countForInbox(
  db: WriteDb,
  { inboxId }: Pick<MessageRow, 'inboxId'>,
  at: Date,
  counts: Partial<DayCounts>,
): Promise<void> {
  const inbox = await findInbox(db, inboxId)
  if (inbox) addToDay(db, inbox, at.toISOString(), counts)
}
