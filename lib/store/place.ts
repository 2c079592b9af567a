import { idAfter } from '../base/ids.ts'
import { together, type WriteDb } from './dialect/dialect.ts'
import { insertRows } from './dialect/insert.ts'
import type { LeftEvent } from './dialect/left-rows.ts'
import type { EventRow } from './tables.ts'

/**
 * Gives events their places in the stream, after all that have one, in the order in which they are given; and puts the work for
 * their webhooks. Who calls it is alone in it, from before `last` is read until the commit: so whoever has read up to one id has missed nothing
 * before it. Ids are made by many clocks: one that is not above the last gets the next that is, which `event.row` then says.
 * @param last the id of the last that has a place (`findLastEventId`); undefined where none has
 */
export async function placeEvents(
  db: WriteDb,
  events: readonly LeftEvent[],
  last: string | undefined,
): Promise<void> {
  const rows = events.map(({ row }) => row)
  moveBehind(rows, last)
  const told = events.flatMap(({ row, webhook }) => (webhook ? [{ row, webhook }] : []))
  await together([
    insertRows(db, 'event', rows),
    insertRows(
      db,
      'webhookDelivery',
      told.map(({ row, webhook }) => ({ ...webhook.delivery, eventId: row.id })),
    ),
    insertRows(
      db,
      'queueEntry',
      told.flatMap(({ webhook }) => webhook.entry ?? []),
    ),
  ])
}

/** Gives the rows the ids that they have or, where one is not above what is before it, the next that is. */
function moveBehind(rows: readonly EventRow[], before: string | undefined): void {
  let last = before
  for (const row of rows) {
    if (last !== undefined && row.id <= last) row.id = idAfter(last)
    last = row.id
  }
}
