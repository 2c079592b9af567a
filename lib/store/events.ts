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

/** Whose events: all, a pod's, or an inbox's; of one type, or all; after the one with this id, or from the first on. */
export interface EventFilter {
  readonly podId: string | null
  readonly inboxId: string | null
  readonly type: string | undefined
  readonly after: string | undefined
}

/** In the order in which they happened. */
export async function listEvents(db: Db, filter: EventFilter, limit: number): Promise<EventRow[]> {
  const { podId, inboxId, type, after } = filter
  let query = db.selectFrom('event').selectAll()
  if (inboxId !== null) query = query.where('inboxId', '=', inboxId)
  else if (podId !== null) query = query.where('podId', '=', podId)
  if (type !== undefined) query = query.where('type', '=', type)
  if (after !== undefined) query = query.where('id', '>', after)
  return query.orderBy('id').limit(limit).execute()
}
