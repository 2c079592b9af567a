import type { Listed, Page } from '../model/page.ts'
import type { Db, WriteDb } from './dialect/dialect.ts'
import { insertRow, insertRowOnce } from './dialect/insert.ts'
import { keptRow } from './dialect/kept.ts'
import type { DomainRow, DomainUseRow } from './tables.ts'

export async function insertDomain(db: WriteDb, row: DomainRow): Promise<void> {
  await insertRow(db, 'domain', row)
}

/** @param domain lower-case, A-label */
export function findDomain(db: Db, domain: string): Promise<DomainRow | undefined> {
  return domainByName(db, { domain })
}
const domainByName = keptRow((db, given: { domain: string }) =>
  db.selectFrom('domain').selectAll().where('domain', '=', given.domain),
)

export async function findDomainById(db: Db, id: string): Promise<DomainRow | undefined> {
  return db.selectFrom('domain').selectAll().where('id', '=', id).executeTakeFirst()
}

/** Newest first; of one pod, or of all; without the one named `except`. */
export async function listDomains(
  db: Db,
  within: { podId: string | null; except: string | null },
  page: Page,
): Promise<Listed<DomainRow>> {
  let matching = db.selectFrom('domain')
  if (within.podId !== null) matching = matching.where('podId', '=', within.podId)
  if (within.except !== null) matching = matching.where('domain', '!=', within.except)
  const rows = await matching
    .selectAll()
    .orderBy('id', 'desc')
    .limit(page.limit)
    .offset(page.offset)
    .execute()
  const counted = await matching.select(eb => eb.fn.countAll<number>().as('count')).executeTakeFirst()
  return { rows, total: Number(counted?.count ?? 0) }
}

export async function updateDomain(
  db: WriteDb,
  id: string,
  changes: Partial<Omit<DomainRow, 'id' | 'domain'>>,
): Promise<void> {
  await db.updateTable('domain').set(changes).where('id', '=', id).execute()
}

export async function deleteDomain(db: WriteDb, id: string): Promise<void> {
  await db.deleteFrom('domain').where('id', '=', id).execute()
}

/** Those whose check is due at `now`, the longest due first. */
export async function listDueDomains(db: Db, now: string, limit: number): Promise<DomainRow[]> {
  return db
    .selectFrom('domain')
    .selectAll()
    .where('nextCheckAt', '<=', now)
    .orderBy('nextCheckAt')
    .limit(limit)
    .execute()
}

export async function hasPodDomains(db: Db, podId: string): Promise<boolean> {
  const row = await db
    .selectFrom('domain')
    .select('id')
    .where('podId', '=', podId)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/** An inbox of the pod came to the domain (1) or left it (-1). */
export async function addToDomainUse(
  db: WriteDb,
  { domain, podId }: Pick<DomainUseRow, 'domain' | 'podId'>,
  count: 1 | -1,
): Promise<void> {
  await insertRowOnce(db, 'domainUse', { domain, podId, inboxCount: 0 }, ['domain', 'podId'])
  await db
    .updateTable('domainUse')
    .set(eb => ({ inboxCount: eb('inboxCount', '+', count) }))
    .where('domain', '=', domain)
    .where('podId', '=', podId)
    .execute()
  await db
    .deleteFrom('domainUse')
    .where('domain', '=', domain)
    .where('podId', '=', podId)
    .where('inboxCount', '<=', 0)
    .execute()
}

/** Whether inboxes use the domain: any, or those of other pods than `exceptPodId`. */
export async function isDomainUsed(db: Db, domain: string, exceptPodId?: string): Promise<boolean> {
  let query = db.selectFrom('domainUse').select('podId').where('domain', '=', domain)
  if (exceptPodId !== undefined) query = query.where('podId', '!=', exceptPodId)
  return (await query.limit(1).executeTakeFirst()) !== undefined
}
