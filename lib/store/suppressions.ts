import type { Listed, Page } from '../model/page.ts'
import type { Db, WriteDb } from './dialect/dialect.ts'
import { putRow } from './dialect/insert.ts'
import { keptRowsOf } from './dialect/kept.ts'
import type { SuppressionRow } from './tables.ts'

/** The first of these recipients (lower-case) that is suppressed at `now`. */
export async function findSuppression(
  db: Db,
  recipients: readonly string[],
  now: string,
): Promise<SuppressionRow | undefined> {
  return (await inForceOf(db, { now }, recipients))[0]
}
const inForceOf = keptRowsOf((db, { now }: { now: string }, recipients = []) =>
  db
    .selectFrom('suppression')
    .selectAll()
    .where('recipient', 'in', recipients)
    .where(eb => eb.or([eb('expiresAt', 'is', null), eb('expiresAt', '>', now)]))
    .orderBy('recipient')
    .limit(1),
)

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
  const recipients = matching
    .select('recipient')
    .orderBy('createdAt', 'desc')
    .orderBy('recipient', 'desc')
    .limit(page.limit)
    .offset(page.offset)
  const rows = await db
    .selectFrom('suppression')
    .selectAll()
    .where('recipient', 'in', recipients)
    .orderBy('createdAt', 'desc')
    .orderBy('recipient', 'desc')
    .execute()
  const counted = await matching.select(eb => eb.fn.countAll<number>().as('count')).executeTakeFirst()
  return { rows, total: Number(counted?.count ?? 0) }
}

/** Takes the place of what there was for this recipient. */
export async function putSuppression(db: WriteDb, row: SuppressionRow): Promise<void> {
  await putRow(db, 'suppression', row, ['recipient'])
}

/** Gives whether there was one; `reason` narrows it to one of that reason. */
export async function deleteSuppression(db: WriteDb, recipient: string, reason?: string): Promise<boolean> {
  let query = db.deleteFrom('suppression').where('recipient', '=', recipient)
  if (reason !== undefined) query = query.where('reason', '=', reason)
  const done = await query.executeTakeFirst()
  return done.numDeletedRows > 0
}

/** Deletes at most `limit` that are over at `now`; gives how many. */
export async function deleteExpiredSuppressions(db: WriteDb, now: string, limit: number): Promise<number> {
  const some = db.selectFrom('suppression').select('recipient').where('expiresAt', '<=', now).limit(limit)
  const done = await db.deleteFrom('suppression').where('recipient', 'in', some).executeTakeFirst()
  return Number(done.numDeletedRows)
}
