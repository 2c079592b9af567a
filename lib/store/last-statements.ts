import { countDays } from './daily-usage.ts'
import { dialectOf, type WriteDb } from './dialect/dialect.ts'
import { insertRows } from './dialect/insert.ts'
import type { LeftRows } from './dialect/left-rows.ts'
import { placeEvents } from './place.ts'
import { insertUnplaced } from './unplaced.ts'

/**
 * Writes what the writes of a transaction left: its last statements. Events get their places by them where one transaction writes at
 * a time, and after the commit where there are several (`./placer.ts`).
 */
export async function writeLeft(db: WriteDb, left: LeftRows): Promise<void> {
  await insertRows(db, 'unindexedBody', left.unindexed)
  await countDays(db, left.days)
  if (dialectOf(db) === 'postgres') await insertUnplaced(db, left.events)
  else await placeEvents(db, left.events)
}
