import { sql } from 'kysely'
import { idAfter } from '../base/ids.ts'
import type { WriteDb } from './dialect/dialect.ts'
import { insertRows, insertRowsWhere } from './dialect/insert.ts'
import type { LeftEvent } from './dialect/left-rows.ts'
import { findLastEventId } from './events.ts'
import type { EventRow } from './tables.ts'

/**
 * Gives events their places in the stream, after all that have one, in the order in which they are given; and puts the work for
 * their webhooks. Who calls it is alone in it, from here until the commit: so whoever has read up to one id has missed nothing
 * before it. Ids are made by many clocks: one that is not above the last gets the next that is, which `event.row` then says.
 */
export async function placeEvents(db: WriteDb, events: readonly LeftEvent[]): Promise<void> {
  if (events.length === 0) return
  const rows = events.map(({ row }) => row)
  let last: string | undefined
  // 64 at once, then 32, and so on down to one, so that few statements are composed.
  for (let at = 0, count = mostAtOnce; at < rows.length; at += count) {
    while (count > rows.length - at) count /= 2
    const some = rows.slice(at, at + count)
    last = moveBehind(some, last)
    if (await insertBehindAll(db, some)) continue
    last = moveBehind(some, await findLastEventId(db))
    if (!(await insertBehindAll(db, some))) throw new Error('somebody else gives events their places')
  }
  const told = events.flatMap(({ row, webhook }) => (webhook ? [{ row, webhook }] : []))
  await insertRows(
    db,
    'webhookDelivery',
    told.map(({ row, webhook }) => ({ ...webhook.delivery, eventId: row.id })),
  )
  await insertRows(
    db,
    'queueEntry',
    told.flatMap(({ webhook }) => webhook.entry ?? []),
  )
}

/** The most events that one statement places. */
const mostAtOnce = 64

/** Gives the rows the ids that they have or, where one is not above what is before it, the next that is; gives the last. */
function moveBehind(rows: readonly EventRow[], before: string | undefined): string | undefined {
  let last = before
  for (const row of rows) {
    if (last !== undefined && row.id <= last) row.id = idAfter(last)
    last = row.id
  }
  return last
}

/** Inserts the rows when the first comes after all that are there; gives whether it did. */
async function insertBehindAll(db: WriteDb, rows: readonly EventRow[]): Promise<boolean> {
  const first = rows[0]!.id
  const count = await insertRowsWhere(db, 'event', rows, { first }, given => {
    return sql`${given.first} > (select coalesce(max("id"), '') from "event")`
  })
  return count > 0
}
