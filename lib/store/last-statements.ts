import { countDays } from './daily-usage.ts'
import type { WriteDb } from './dialect/dialect.ts'
import { insertRows } from './dialect/insert.ts'
import type { LeftRows } from './dialect/left-rows.ts'
import { placeEvents } from './place.ts'

/** Writes what the writes of a transaction left: its last statements, on a database where one transaction writes at a time. */
export async function writeLeft(db: WriteDb, left: LeftRows): Promise<void> {
  await insertRows(db, 'unindexedBody', left.unindexed)
  await countDays(db, left.days)
  await placeEvents(db, left.events)
}
