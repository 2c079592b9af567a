import { sql } from 'kysely'
import type { Db, WriteDb } from './dialect/dialect.ts'
import { insertRowOnce } from './dialect/insert.ts'
import { keptChange } from './dialect/kept.ts'
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

/** Bytes are counted in two columns, for one has 32 bits. A number that is bound is no integer for SQLite unless it is cast. */
const gibibyte = 2 ** 30

/** Counts more, in the write of what is counted. A system inbox is in no count. @param at an instant of the day */
export async function addToDay(
  db: WriteDb,
  { id: inboxId, podId, isSystem }: Pick<InboxRow, 'id' | 'podId' | 'isSystem'>,
  at: string,
  counts: Partial<DayCounts>,
): Promise<void> {
  if (isSystem === 1) return
  const { inbound = 0, outbound = 0, delivered = 0, bounced = 0 } = counts
  const { attachmentBytes = 0, storedBytes = 0 } = counts
  const day = at.slice(0, 10)
  const given = {
    day,
    inboxId,
    inbound,
    outbound,
    delivered,
    bounced,
    attachmentGiB: Math.floor(attachmentBytes / gibibyte),
    attachmentBytes: attachmentBytes % gibibyte,
    storedGiB: Math.floor(storedBytes / gibibyte),
    storedBytes: storedBytes % gibibyte,
  }
  if ((await countMore(db, given)) > 0) return
  const none = { inbound: 0, outbound: 0, delivered: 0, bounced: 0 }
  const noBytes = { attachmentGiB: 0, attachmentBytes: 0, storedGiB: 0, storedBytes: 0 }
  await insertRowOnce(db, 'dailyUsage', { day, inboxId, podId, ...none, ...noBytes }, ['day', 'inboxId'])
  await countMore(db, given)
}
const countMore = keptChange((db, given: Omit<DailyUsageRow, 'podId'> & Record<string, string | number>) =>
  db
    .updateTable('dailyUsage')
    .set(eb => ({
      inbound: eb('inbound', '+', given.inbound),
      outbound: eb('outbound', '+', given.outbound),
      delivered: eb('delivered', '+', given.delivered),
      bounced: eb('bounced', '+', given.bounced),
      attachmentGiB: sql<number>`"attachmentGiB" + ${given.attachmentGiB} + ("attachmentBytes" + cast(${given.attachmentBytes} as integer)) / ${sql.lit(gibibyte)}`,
      attachmentBytes: sql<number>`("attachmentBytes" + cast(${given.attachmentBytes} as integer)) % ${sql.lit(gibibyte)}`,
      storedGiB: sql<number>`"storedGiB" + ${given.storedGiB} + ("storedBytes" + cast(${given.storedBytes} as integer)) / ${sql.lit(gibibyte)}`,
      storedBytes: sql<number>`("storedBytes" + cast(${given.storedBytes} as integer)) % ${sql.lit(gibibyte)}`,
    }))
    .where('day', '=', given.day)
    .where('inboxId', '=', given.inboxId),
)

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
