import { type RawBuilder, sql } from 'kysely'
import type { Db, WriteDb } from './dialect/dialect.ts'
import { addRowsTo } from './dialect/insert.ts'
import { leftRows } from './dialect/left-rows.ts'
import type { DailyUsageRow, InboxRow } from './tables.ts'

/** What is counted of an inbox and a day: messages in and out, deliveries that were taken and that came back, and bytes. */
export interface DayCounts {
  readonly inbound: number
  readonly outbound: number
  readonly delivered: number
  readonly bounced: number
  readonly attachmentBytes: number
  readonly storedBytes: number
}

/** Bytes are counted in two columns, for one has 32 bits. */
const gibibyte = 2 ** 30

/** Counts more, in the write of what is counted. A system inbox is in no count. @param at an instant of the day */
export function addToDay(
  db: WriteDb,
  { id: inboxId, podId, isSystem }: Pick<InboxRow, 'id' | 'podId' | 'isSystem'>,
  at: string,
  counts: Partial<DayCounts>,
): void {
  if (isSystem === 1) return
  const { inbound = 0, outbound = 0, delivered = 0, bounced = 0 } = counts
  const { attachmentBytes = 0, storedBytes = 0 } = counts
  leftRows(db).days.push({
    day: at.slice(0, 10),
    inboxId,
    podId,
    inbound,
    outbound,
    delivered,
    bounced,
    attachmentGiB: Math.floor(attachmentBytes / gibibyte),
    attachmentBytes: attachmentBytes % gibibyte,
    storedGiB: Math.floor(storedBytes / gibibyte),
    storedBytes: storedBytes % gibibyte,
  })
}

/** Adds counts to those of their days and inboxes; several of one are added up before. */
export async function countDays(db: WriteDb, counted: readonly DailyUsageRow[]): Promise<void> {
  if (counted.length === 0) return
  const byName = new Map<string, DailyUsageRow>()
  for (const row of counted) {
    const name = `${row.day} ${row.inboxId}`
    const known = byName.get(name)
    byName.set(name, known ? sumOf(known, row) : row)
  }
  // In one order in all transactions, so that none of two that write at once waits for the other.
  const rows = [...byName].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row)
  await addRowsTo(db, 'dailyUsage', rows, ['day', 'inboxId'], {
    inbound: more('inbound'),
    outbound: more('outbound'),
    delivered: more('delivered'),
    bounced: more('bounced'),
    attachmentGiB: moreGiB('attachment'),
    attachmentBytes: moreBytes('attachment'),
    storedGiB: moreGiB('stored'),
    storedBytes: moreBytes('stored'),
  })
}

const more = (column: string): RawBuilder<unknown> =>
  sql`${sql.ref(`dailyUsage.${column}`)} + ${sql.ref(`excluded.${column}`)}`
const moreBytes = (what: string) => sql`(${more(`${what}Bytes`)}) % ${sql.lit(gibibyte)}`
const moreGiB = (what: string) =>
  sql`${more(`${what}GiB`)} + (${more(`${what}Bytes`)}) / ${sql.lit(gibibyte)}`

function sumOf(one: DailyUsageRow, other: DailyUsageRow): DailyUsageRow {
  const attachmentBytes = one.attachmentBytes + other.attachmentBytes
  const storedBytes = one.storedBytes + other.storedBytes
  return {
    ...one,
    inbound: one.inbound + other.inbound,
    outbound: one.outbound + other.outbound,
    delivered: one.delivered + other.delivered,
    bounced: one.bounced + other.bounced,
    attachmentGiB: one.attachmentGiB + other.attachmentGiB + Math.floor(attachmentBytes / gibibyte),
    attachmentBytes: attachmentBytes % gibibyte,
    storedGiB: one.storedGiB + other.storedGiB + Math.floor(storedBytes / gibibyte),
    storedBytes: storedBytes % gibibyte,
  }
}

/** What one inbox did on one day. */
export interface DayOfInbox extends DayCounts {
  readonly day: string
  readonly inboxId: string
  readonly podId: string
}

/** What the inboxes of the account, or of a pod, did on a day: in the order of their ids, after one of them. */
export async function listDay(
  db: Db,
  of: { readonly day: string; readonly podId: string | null; readonly after: string },
  limit: number,
): Promise<DayOfInbox[]> {
  let rows = db.selectFrom('dailyUsage').selectAll().where('day', '=', of.day)
  if (of.podId !== null) rows = rows.where('podId', '=', of.podId)
  return (await rows.where('inboxId', '>', of.after).orderBy('inboxId').limit(limit).execute()).map(countsOf)
}

/** What one inbox did from one day to another, both included. */
export async function listDaysOfInbox(
  db: Db,
  of: { readonly inboxId: string; readonly from: string; readonly to: string },
): Promise<DayOfInbox[]> {
  const rows = await db
    .selectFrom('dailyUsage')
    .selectAll()
    .where('inboxId', '=', of.inboxId)
    .where('day', '>=', of.from)
    .where('day', '<=', of.to)
    .execute()
  return rows.map(countsOf)
}

function countsOf(row: DailyUsageRow): DayOfInbox {
  const { attachmentGiB, attachmentBytes, storedGiB, storedBytes, ...rest } = row
  return {
    ...rest,
    attachmentBytes: attachmentGiB * gibibyte + attachmentBytes,
    storedBytes: storedGiB * gibibyte + storedBytes,
  }
}

/** Deletes at most `limit` counts of days before `day`; gives how many. */
export async function deleteDaysBefore(db: WriteDb, day: string, limit: number): Promise<number> {
  const old = await db
    .selectFrom('dailyUsage')
    .select(['day', 'inboxId'])
    .where('day', '<', day)
    .limit(limit)
    .execute()
  for (const one of old) {
    await db.deleteFrom('dailyUsage').where('day', '=', one.day).where('inboxId', '=', one.inboxId).execute()
  }
  return old.length
}
