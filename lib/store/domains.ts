import { sql } from 'kysely'
import type { Listed, Page } from '../model/page.ts'
import type { Db, WriteDb } from './dialect/dialect.ts'
import { insertRow, insertRowOnce } from './dialect/insert.ts'
import { prepared } from './dialect/prepared.ts'
import type { DomainRow, DomainUseRow } from './tables.ts'

export async function insertDomain(db: WriteDb, row: DomainRow): Promise<void> {
  await insertRow(db, 'domain', row)
}

/** The row that has the name: it is verified, or was and no other has been since. @param domain lower-case, A-label */
export function findDomainClaim(db: Db, domain: string): Promise<DomainRow | undefined> {
  return claimByName(db, { domain })
}
const claimByName = prepared((db, given: { domain: string }) =>
  db.selectFrom('domain').selectAll().where('domain', '=', given.domain).where('verifiedAt', 'is not', null),
).row

/** The account's row of this name, and the row that has the name; the same one where the account has it. */
export function listHolders(db: Db, domain: string): Promise<DomainRow[]> {
  return holdersOf(db, { domain })
}
const holdersOf = prepared((db, given: { domain: string }) =>
  db
    .selectFrom('domain')
    .selectAll()
    .where('domain', '=', given.domain)
    // As it stands in the index, so that SQLite knows that it can use that.
    .where(eb => eb.fn.coalesce('podId', sql.lit('')), '=', sql.lit(''))
    .unionAll(
      db
        .selectFrom('domain')
        .selectAll()
        .where('domain', '=', given.domain)
        .where('verifiedAt', 'is not', null),
    ),
).rows

/** The row that a pod (null: the account) has of this name, verified or not. */
export function findDomainOfPod(
  db: Db,
  domain: string,
  podId: string | null,
): Promise<DomainRow | undefined> {
  return domainOfPod(db, { domain, podId: podId ?? '' })
}
const domainOfPod = prepared((db, given: { domain: string; podId: string }) =>
  db
    .selectFrom('domain')
    .selectAll()
    .where('domain', '=', given.domain)
    .where(eb => eb.fn.coalesce('podId', eb.val('')), '=', given.podId),
).row

/** The row of this name that was added first. */
export async function findDomain(db: Db, domain: string): Promise<DomainRow | undefined> {
  return db
    .selectFrom('domain')
    .selectAll()
    .where('domain', '=', domain)
    .orderBy('id')
    .limit(1)
    .executeTakeFirst()
}

/** Whether any pod's row of this name is under review. */
export async function isDomainHeld(db: Db, domain: string): Promise<boolean> {
  const row = await db
    .selectFrom('domain')
    .select('id')
    .where('domain', '=', domain)
    .where('status', '=', 'under_review')
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/** Changes the rows of this name that have one of these states, whoever added them. */
export async function updateDomainsNamed(
  db: WriteDb,
  domain: string,
  states: readonly string[],
  changes: Partial<Omit<DomainRow, 'id' | 'domain'>>,
): Promise<void> {
  await db
    .updateTable('domain')
    .set(changes)
    .where('domain', '=', domain)
    .where('status', 'in', states)
    .execute()
}

/** Those who added this name besides one of them and were not told yet that it is taken, the oldest first. */
export async function listOtherClaimants(
  db: Db,
  { domain, id }: Pick<DomainRow, 'domain' | 'id'>,
  limit: number,
): Promise<DomainRow[]> {
  return db
    .selectFrom('domain')
    .selectAll()
    .where('domain', '=', domain)
    .where('id', '!=', id)
    .where('problem', 'is', null)
    .where('status', '!=', 'under_review')
    .orderBy('id')
    .limit(limit)
    .execute()
}

/** How many domains of a pod were never verified, or lost their name to another. */
export async function countUnverifiedDomains(db: Db, podId: string): Promise<number> {
  const row = await db
    .selectFrom('domain')
    .select(eb => eb.fn.countAll<number>().as('count'))
    .where('podId', '=', podId)
    .where('verifiedAt', 'is', null)
    .executeTakeFirstOrThrow()
  return Number(row.count)
}

export async function findDomainById(db: Db, id: string): Promise<DomainRow | undefined> {
  return db.selectFrom('domain').selectAll().where('id', '=', id).executeTakeFirst()
}

/** Newest first; of one pod, or of all; those of one name, or of all; without the one of the account that is named `except`. */
export async function listDomains(
  db: Db,
  within: { podId: string | null; name?: string | undefined; except: string | null },
  page: Page,
): Promise<Listed<DomainRow>> {
  let matching = db.selectFrom('domain')
  if (within.podId !== null) matching = matching.where('podId', '=', within.podId)
  if (within.name !== undefined) matching = matching.where('domain', '=', within.name)
  const { except } = within
  if (except !== null) {
    matching = matching.where(eb => eb.or([eb('domain', '!=', except), eb('podId', 'is not', null)]))
  }
  const rows = await matching
    .selectAll()
    .orderBy('id', 'desc')
    .limit(page.limit)
    .offset(page.offset)
    .execute()
  const counted = await matching.select(eb => eb.fn.countAll<number>().as('count')).executeTakeFirst()
  return { rows, total: Number(counted?.count ?? 0) }
}

/** How many domains are in which state. */
export async function countDomainsByStatus(db: Db): Promise<Record<string, number>> {
  const rows = await db
    .selectFrom('domain')
    .select(eb => ['status', eb.fn.countAll<number>().as('count')])
    .groupBy('status')
    .orderBy('status')
    .execute()
  return Object.fromEntries(rows.map(({ status, count }) => [status, Number(count)]))
}

export async function updateDomain(
  db: WriteDb,
  id: string,
  changes: Partial<Omit<DomainRow, 'id' | 'domain'>>,
): Promise<void> {
  await db.updateTable('domain').set(changes).where('id', '=', id).execute()
}

export async function deleteDomain(db: WriteDb, id: string): Promise<void> {
  await db.deleteFrom('domainKey').where('domainId', '=', id).execute()
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
