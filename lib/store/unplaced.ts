import { sql } from 'kysely'
import { type Db, dialectOf, type WriteDb } from './dialect/dialect.ts'
import { insertRows } from './dialect/insert.ts'
import type { LeftCall, LeftEvent } from './dialect/left-rows.ts'
import { prepared } from './dialect/prepared.ts'
import type { EventRow } from './tables.ts'

/** Events whose write is done and that have no place yet: there are such where several transactions write at once. */
export interface UnplacedEvent extends LeftEvent {
  /** They are placed in this order: what was written after another write was done has a higher one. */
  readonly number: number
}

/** Keeps events, in their transaction, to be placed after its commit. */
export async function insertUnplaced(db: WriteDb, events: readonly LeftEvent[]): Promise<void> {
  const rows = events.map(({ row, webhook }) => {
    return { event: JSON.stringify(row), call: webhook ? JSON.stringify(webhook) : null }
  })
  await insertRows(db, 'unplaced', rows)
}

/**
 * Takes the first of them, at most `limit`, out of the table.
 */
export async function takeUnplaced(db: WriteDb, limit: number): Promise<UnplacedEvent[]> {
  const rows = await takeFirst(db, { limit })
  return rows
    .sort((a, b) => a.number - b.number)
    .map(({ number, event, call }) => ({
      number,
      row: JSON.parse(event) as EventRow,
      webhook: call === null ? undefined : (JSON.parse(call) as LeftCall),
    }))
}
interface Kept {
  readonly number: number
  readonly event: string
  readonly call: string | null
}
const takeFirst = prepared((db, { limit }: { limit: number }) => {
  const statement = sql<Kept>`
    delete from "unplaced" where "number" in (select "number" from "unplaced" order by "number" limit ${limit})
    returning "number", "event", "call"`
  return { compile: () => statement.compile(db) }
}).rows

/** The highest number among them; undefined when all events have their places. */
export async function findLastUnplaced(db: Db): Promise<number | undefined> {
  const { rows } = await sql<{ last: number | null }>`select max("number") as "last" from "unplaced"`.execute(
    db,
  )
  return rows[0]?.last ?? undefined
}

/** Whether there is one with this number or a lower one. */
export async function hasUnplaced(db: Db, number: number): Promise<boolean> {
  const { rows } = await sql`select 1 from "unplaced" where "number" <= ${number} limit 1`.execute(db)
  return rows.length > 0
}

/** All of them; none on a database where events are placed in their transaction. */
export async function listUnplaced(db: Db): Promise<EventRow[]> {
  if (dialectOf(db) === 'sqlite') return []
  const { rows } = await sql<{ event: string }>`select "event" from "unplaced"`.execute(db)
  return rows.map(({ event }) => JSON.parse(event) as EventRow)
}
