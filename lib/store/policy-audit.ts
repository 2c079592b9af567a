import type { Scope } from '../base/ids.ts'
import type { Listed, Page } from '../model/page.ts'
import type { Db, WriteDb } from './dialect/dialect.ts'
import { insertRow } from './dialect/insert.ts'
import type { PolicyAuditRow } from './tables.ts'

export async function insertPolicyAudit(db: WriteDb, row: PolicyAuditRow): Promise<void> {
  await insertRow(db, 'policyAudit', row)
}

export interface PolicyAuditFilter {
  readonly action?: string | undefined
  readonly direction?: string | undefined
  /** An instant as rows have it; entries of it and later. */
  readonly since?: string | undefined
  /** Entries before it. */
  readonly until?: string | undefined
}

/** Newest first; of the account with all that is in it, of a pod with its inboxes, or of an inbox. */
export async function listPolicyAudit(
  db: Db,
  within: Scope,
  filter: PolicyAuditFilter,
  page: Page,
): Promise<Listed<PolicyAuditRow>> {
  let matching = db.selectFrom('policyAudit')
  if (within.inboxId !== null) matching = matching.where('inboxId', '=', within.inboxId)
  else if (within.podId !== null) matching = matching.where('podId', '=', within.podId)
  if (filter.action !== undefined) matching = matching.where('action', '=', filter.action)
  if (filter.direction !== undefined) matching = matching.where('direction', '=', filter.direction)
  if (filter.since !== undefined) matching = matching.where('createdAt', '>=', filter.since)
  if (filter.until !== undefined) matching = matching.where('createdAt', '<', filter.until)
  const ids = matching
    .select('id')
    .orderBy('createdAt', 'desc')
    .orderBy('id', 'desc')
    .limit(page.limit)
    .offset(page.offset)
  const rows = await db
    .selectFrom('policyAudit')
    .selectAll()
    .where('id', 'in', ids)
    .orderBy('createdAt', 'desc')
    .orderBy('id', 'desc')
    .execute()
  const counted = await matching.select(eb => eb.fn.countAll<number>().as('count')).executeTakeFirst()
  return { rows, total: Number(counted?.count ?? 0) }
}

/** Deletes at most `limit` entries older than `before`; gives how many. */
export async function deletePolicyAuditBefore(db: WriteDb, before: string, limit: number): Promise<number> {
  const some = db
    .selectFrom('policyAudit')
    .select('id')
    .where('createdAt', '<', before)
    .orderBy('createdAt')
    .limit(limit)
  const done = await db.deleteFrom('policyAudit').where('id', 'in', some).executeTakeFirst()
  return Number(done.numDeletedRows)
}
