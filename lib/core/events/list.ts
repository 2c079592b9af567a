import { isId } from '../../base/ids.ts'
import { invalidRequest, Problem } from '../../base/problem.ts'
import type { EventBody } from '../../model/event-body.ts'
import type { Db } from '../../store/dialect/dialect.ts'
import { findEvent, listEvents as listEventRows } from '../../store/events.ts'
import type { EventRow } from '../../store/tables.ts'
import type { Desk } from '../app/app.ts'
import type { Caller } from '../app/caller.ts'
import { getInboxRow } from '../app/reach.ts'
import { describeListed } from './body.ts'

export interface EventsAsked {
  readonly inboxId?: string
  readonly type?: string
  /** The id of the last event that is known already. */
  readonly after?: string
  /** Whether the newest are asked for, and not the oldest. */
  readonly newest?: boolean
}

/** The event, if it is there still and the caller reaches it. */
export async function findReachableEvent(
  db: Db,
  { podId, inboxId }: Caller,
  id: string,
): Promise<EventRow | undefined> {
  const row = isId(id) ? await findEvent(db, id.toLowerCase()) : undefined
  if (!row || (podId !== null && podId !== row.podId)) return undefined
  return inboxId === null || inboxId === row.inboxId ? row : undefined
}

/** The same. @throws Problem `not_found` */
export async function getEventRow(db: Db, caller: Caller, id: string): Promise<EventRow> {
  const row = await findReachableEvent(db, caller, id)
  if (!row) throw new Problem('not_found', 'There is no such event, or it is no longer kept.')
  return row
}

/**
 * The events within the caller's scope, in the order of their ids, which is the order of the writes. A client that asks
 * again `after` the last one misses none.
 * @throws Problem `not_found` for an inbox that the caller does not reach; `invalid_request`
 */
export async function listEvents(
  app: Desk,
  caller: Caller,
  { inboxId, type, after, newest }: EventsAsked,
  limit: number,
): Promise<EventBody[]> {
  const db = app.store.read
  if (after !== undefined && !isId(after)) {
    throw invalidRequest('query/after', 'must be the id of an event')
  }
  const inbox = inboxId === undefined ? undefined : await getInboxRow(db, caller, inboxId)
  const scope = { podId: caller.podId, inboxId: inbox?.id ?? caller.inboxId }
  const rows = await listEventRows(db, { ...scope, type, after: after?.toLowerCase(), newest }, limit)
  return describeListed(app, rows)
}
