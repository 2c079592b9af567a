import type { Db } from './dialect.ts'
import { insertRow } from './insert.ts'
import type { EventRow } from './tables.ts'

/** Events are appended in the transaction of what they tell. */
export async function insertEvent(db: Db, row: EventRow): Promise<void> {
  await insertRow(db, 'event', row)
}

/** Deletes at most `limit` events older than `before`; gives how many. */
export async function deleteEventsBefore(db: Db, before: string, limit: number): Promise<number> {
  const done = await db
    .deleteFrom('event')
    .where('id', 'in', db.selectFrom('event').select('id').where('createdAt', '<', before).limit(limit))
    .executeTakeFirst()
  return Number(done.numDeletedRows)
}
