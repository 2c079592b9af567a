import type { Scope } from '../base/ids.ts'
import type { Db, WriteDb } from './dialect/dialect.ts'
import { type LeftCall, leftEvents, leftRows } from './dialect/left-rows.ts'
import { prepared } from './dialect/prepared.ts'
import type { EventRow } from './tables.ts'
import { listUnplaced } from './unplaced.ts'
import { deleteWebhookDeliveriesOf } from './webhook-deliveries.ts'

/**
 * Leaves events to the end of the transaction of what they tell, where they get their places in the stream: in the order of these
 * calls. An id that is not above all others there is another then, which `row` says after the write.
 * @param webhook the work for the webhook that is told
 */
export function leaveEvent(db: WriteDb, row: EventRow, webhook?: LeftCall): void {
  leftRows(db).events.push({ row, webhook })
}

/** The id of the newest event. */
export async function findLastEventId(db: Db): Promise<string | undefined> {
  return (await lastEvent(db, {}))?.id ?? undefined
}
const lastEvent = prepared(db => db.selectFrom('event').select(eb => eb.fn.max('id').as('id'))).row

/** When the newest event of a type was; null: none is kept. */
export async function findLastEventAt(db: Db, type: string): Promise<string | null> {
  const row = await db
    .selectFrom('event')
    .select('createdAt')
    .where('type', '=', type)
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row?.createdAt ?? null
}

/** When the newest event was recorded. */
export async function findNewestEventAt(db: Db): Promise<string | null> {
  const row = await db
    .selectFrom('event')
    .select('createdAt')
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row?.createdAt ?? null
}

/** An event that is there still. */
export function findEvent(db: Db, id: string): Promise<EventRow | undefined> {
  return eventById(db, { id })
}
const eventById = prepared((db, given: { id: string }) =>
  db.selectFrom('event').selectAll().where('id', '=', given.id),
).row

/** Deletes at most `limit` events older than `before`, with what webhooks said of them; gives how many. */
export async function deleteEventsBefore(db: WriteDb, before: string, limit: number): Promise<number> {
  const old = await db.selectFrom('event').select('id').where('createdAt', '<', before).limit(limit).execute()
  if (old.length === 0) return 0
  const ids = old.map(row => row.id)
  await deleteWebhookDeliveriesOf(db, ids)
  await db.deleteFrom('event').where('id', 'in', ids).execute()
  return ids.length
}

interface About {
  readonly inboxId: string
  readonly messageId: string
  readonly type: string
}

/** The payloads of the events of one type about one message of an inbox, after the one with this id. */
export async function listPayloads(db: Db, about: About & { readonly after: string }): Promise<string[]> {
  const rows = await db
    .selectFrom('event')
    .select('payload')
    .where('inboxId', '=', about.inboxId)
    .where('id', '>', about.after)
    .where('type', '=', about.type)
    .where('messageId', '=', about.messageId)
    .execute()
  return rows.map(row => row.payload)
}

/** The same of those that have no place yet: of this transaction, and of others where they are placed after it. */
export async function unplacedPayloads(db: WriteDb, { inboxId, messageId, type }: About): Promise<string[]> {
  return [...leftEvents(db).map(({ row }) => row), ...(await listUnplaced(db))]
    .filter(row => row.inboxId === inboxId && row.messageId === messageId && row.type === type)
    .map(row => row.payload)
}

/** Whose events: all, a pod's, or an inbox's; of one type, or all; after the one with this id, or from the first on. */
export interface EventFilter extends Scope {
  readonly type: string | undefined
  readonly after: string | undefined
  /** The last one that counts. */
  readonly until?: string
  /** Whether those at the end are meant where there are too many, and not those at the beginning. */
  readonly newest?: boolean | undefined
}

/** In the order in which they happened. */
export async function listEvents(db: Db, filter: EventFilter, limit: number): Promise<EventRow[]> {
  const { podId, inboxId, type, after, until, newest } = filter
  let query = db.selectFrom('event').selectAll()
  if (inboxId !== null) query = query.where('inboxId', '=', inboxId)
  else if (podId !== null) query = query.where('podId', '=', podId)
  if (type !== undefined) query = query.where('type', '=', type)
  if (after !== undefined) query = query.where('id', '>', after)
  if (until !== undefined) query = query.where('id', '<=', until)
  if (newest !== true) return query.orderBy('id').limit(limit).execute()
  const rows = await query.orderBy('id', 'desc').limit(limit).execute()
  return rows.reverse()
}

/** The first events about one message of an inbox, in the order in which they happened. */
export function listEventsAbout(
  db: Db,
  { inboxId, messageId }: { inboxId: string; messageId: string },
  limit: number,
): Promise<EventRow[]> {
  const ofInbox = db.selectFrom('event').selectAll().where('inboxId', '=', inboxId)
  return ofInbox.where('messageId', '=', messageId).orderBy('id').limit(limit).execute()
}
