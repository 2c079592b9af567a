import type { Db } from './dialect.ts'
import { insertRow } from './insert.ts'
import type { DomainRow } from './tables.ts'

export async function insertDomain(db: Db, row: DomainRow): Promise<void> {
  await insertRow(db, 'domain', row)
}

/** @param domain lower-case, A-label */
export async function findDomain(db: Db, domain: string): Promise<DomainRow | undefined> {
  return db.selectFrom('domain').selectAll().where('domain', '=', domain).executeTakeFirst()
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
