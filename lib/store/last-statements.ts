import { countDays } from './daily-usage.ts'
import { dialectOf, together, type WriteDb } from './dialect/dialect.ts'
import { insertRows } from './dialect/insert.ts'
import { gatherRows, type LeftRows, leftTables, noRows } from './dialect/left-rows.ts'
import { findLastEventId } from './events.ts'
import { placeEvents } from './place.ts'
import { insertUnplaced } from './unplaced.ts'

/**
 * Writes what the writes of a transaction left: its last statements. Events get their places by them where one transaction writes at
 * a time, and after the commit where there are several (`./placer.ts`).
 */
export async function writeLeft(db: WriteDb, left: LeftRows): Promise<void> {
  // What is inserted now is left no more.
  gatherRows(db, noRows(), left)
  const isServed = dialectOf(db) === 'postgres'
  await together([
    ...leftTables.flatMap(table => {
      const rows = left.inserts.get(table)
      return rows ? [insertRows(db, table, rows)] : []
    }),
    insertRows(db, 'unindexedBody', left.unindexed),
    countDays(db, left.days),
    ...(isServed ? [insertUnplaced(db, left.events)] : []),
  ])
  if (!isServed && left.events.length > 0) await placeEvents(db, left.events, await findLastEventId(db))
}
