import type { Db, WriteDb } from './dialect/dialect.ts'
import { insertRow } from './dialect/insert.ts'
import { prepared } from './dialect/prepared.ts'
import type { DomainKeyRow, DomainRow } from './tables.ts'

/** The keys of a domain beside the one in its row, the oldest first. */
export async function listDomainKeys(db: Db, domainId: string): Promise<DomainKeyRow[]> {
  return byDomain(db, { domainId })
}
const byDomain = prepared((db, { domainId }: { domainId: string }) =>
  db.selectFrom('domainKey').selectAll().where('domainId', '=', domainId).orderBy('selector'),
).rows

export async function listKeysOfDomains(db: Db, domainIds: readonly string[]): Promise<DomainKeyRow[]> {
  if (domainIds.length === 0) return []
  return db
    .selectFrom('domainKey')
    .selectAll()
    .where('domainId', 'in', domainIds)
    .orderBy('selector')
    .execute()
}

export async function insertDomainKey(db: WriteDb, row: DomainKeyRow): Promise<void> {
  await insertRow(db, 'domainKey', row)
}

export async function updateDomainKey(
  db: WriteDb,
  id: string,
  changes: Partial<Omit<DomainKeyRow, 'id' | 'domainId'>>,
): Promise<void> {
  await db.updateTable('domainKey').set(changes).where('id', '=', id).execute()
}

export async function deleteDomainKey(db: WriteDb, id: string): Promise<void> {
  await db.deleteFrom('domainKey').where('id', '=', id).execute()
}

/** Deletes some keys whose time is over; gives how many. */
export async function deleteDomainKeysBefore(db: WriteDb, before: string, limit: number): Promise<number> {
  const over = db
    .selectFrom('domainKey')
    .select('id')
    .where('endsAt', '<', before)
    .orderBy('endsAt')
    .limit(limit)
  const done = await db.deleteFrom('domainKey').where('id', 'in', over).executeTakeFirst()
  return Number(done.numDeletedRows)
}

/** Some domains that sign by the same RSA key since before `since`, and have no other one to follow. */
export async function listDomainsToRotate(db: Db, since: string, limit: number): Promise<DomainRow[]> {
  return db
    .selectFrom('domain')
    .selectAll('domain')
    .where('dkimSince', '<', since)
    .where('domain.status', '=', 'verified')
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('domainKey')
            .select('domainKey.id')
            .whereRef('domainKey.domainId', '=', 'domain.id')
            .where('domainKey.state', '=', 'next')
            .where('domainKey.algorithm', '=', 'rsa'),
        ),
      ),
    )
    .orderBy('dkimSince')
    .limit(limit)
    .execute()
}
