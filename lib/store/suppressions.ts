import { sql } from 'kysely'
import type { Listed, Page } from '../model/page.ts'
import type { Db, WriteDb } from './dialect/dialect.ts'
import { putRow } from './dialect/insert.ts'
import { prepared } from './dialect/prepared.ts'
import type { SuppressionRow } from './tables.ts'

/** What holds for all pods has this in place of the id of one. */
export const everyPod = ''

/**
 * The first of these recipients (lower-case) that is suppressed at `now` for this pod or for all, by what holds longest.
 * @param podId `everyPod` asks for what holds for all alone
 */
export async function findSuppression(
  db: Db,
  recipients: readonly string[],
  { podId, now }: { readonly podId: string; readonly now: string },
): Promise<SuppressionRow | undefined> {
  const found = await inForceOf(db, { podId, everyPod, now }, recipients)
  return firstOf(found)
}

/** Of a suppression what is told to who writes. */
export type Suppressed = Pick<SuppressionRow, 'recipient' | 'podId' | 'reason' | 'expiresAt'>

/** The first recipient among these, by what holds longest. */
export function firstOf<Row extends Suppressed>(found: readonly Row[]): Row | undefined {
  return [...found].sort(byRecipientAndEnd)[0]
}

/** For SQLite to sort the few that there are, mostly none, takes ten times as long as to find them. */
function byRecipientAndEnd(a: Suppressed, b: Suppressed): number {
  if (a.recipient !== b.recipient) return a.recipient < b.recipient ? -1 : 1
  const [aEnds, bEnds] = [a.expiresAt !== null, b.expiresAt !== null]
  if (aEnds !== bEnds) return aEnds ? 1 : -1
  return a.podId < b.podId ? -1 : 1
}

const inForceOf = prepared(
  (db, { podId, everyPod, now }: { podId: string; everyPod: string; now: string }, recipients = []) =>
    db
      .selectFrom('suppression')
      .selectAll()
      .where('recipient', 'in', recipients)
      .where(eb => eb.or([eb('podId', '=', everyPod), eb('podId', '=', podId)]))
      .where(eb => eb.or([eb('expiresAt', 'is', null), eb('expiresAt', '>', now)])),
).rows

/** Those in force at `now`, newest first; with one reason, or all. */
export async function listSuppressions(
  db: Db,
  filter: { reason: string | undefined; now: string },
  page: Page,
): Promise<Listed<SuppressionRow>> {
  let matching = db
    .selectFrom('suppression')
    .where(eb => eb.or([eb('expiresAt', 'is', null), eb('expiresAt', '>', filter.now)]))
  if (filter.reason !== undefined) matching = matching.where('reason', '=', filter.reason)
  const rows = await matching
    .selectAll()
    .orderBy('createdAt', 'desc')
    .orderBy('recipient', 'desc')
    .orderBy('podId', 'desc')
    .limit(page.limit)
    .offset(page.offset)
    .execute()
  const counted = await matching.select(eb => eb.fn.countAll<number>().as('count')).executeTakeFirst()
  return { rows, total: Number(counted?.count ?? 0) }
}

/** All of a recipient, those that have expired, too. */
export function listSuppressionsOf(db: Db, recipient: string): Promise<SuppressionRow[]> {
  return db
    .selectFrom('suppression')
    .selectAll()
    .where('recipient', '=', recipient)
    .orderBy('podId')
    .execute()
}

/** Takes the place of what there was for this recipient and pod. */
export async function putSuppression(db: WriteDb, row: SuppressionRow): Promise<void> {
  await putRow(db, 'suppression', row, ['recipient', 'podId'])
}

/** Gives whether there was one; what is said besides narrows it to those of this pod, or of this reason. */
export async function deleteSuppression(
  db: WriteDb,
  recipient: string,
  { podId, reason }: { readonly podId?: string; readonly reason?: string } = {},
): Promise<boolean> {
  let query = db.deleteFrom('suppression').where('recipient', '=', recipient)
  if (podId !== undefined) query = query.where('podId', '=', podId)
  if (reason !== undefined) query = query.where('reason', '=', reason)
  const done = await query.executeTakeFirst()
  return done.numDeletedRows > 0
}

/** Those of this reason of the address with any tag (`ann+tag@…` of `ann@…`). */
export async function deleteTaggedSuppressions(db: WriteDb, address: string, reason: string): Promise<void> {
  const at = address.lastIndexOf('@')
  const [base, domain] = [address.slice(0, at), address.slice(at)]
  await db
    .deleteFrom('suppression')
    // The comma is what comes after the plus sign.
    .where('recipient', '>', `${base}+`)
    .where('recipient', '<', `${base},`)
    .where(sql`substr("recipient", length("recipient") - ${domain.length - 1})`, '=', domain)
    .where('reason', '=', reason)
    .execute()
}

/** All that hold for this pod alone. */
export async function deletePodSuppressions(db: WriteDb, podId: string): Promise<void> {
  await db.deleteFrom('suppression').where('podId', '=', podId).execute()
}

/** Deletes some that are over at `now`, of at most `limit` recipients; gives how many. */
export async function deleteExpiredSuppressions(db: WriteDb, now: string, limit: number): Promise<number> {
  const some = db.selectFrom('suppression').select('recipient').where('expiresAt', '<=', now).limit(limit)
  const done = await db
    .deleteFrom('suppression')
    .where('recipient', 'in', some)
    .where('expiresAt', '<=', now)
    .executeTakeFirst()
  return Number(done.numDeletedRows)
}
