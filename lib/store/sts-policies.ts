import type { Db, WriteDb } from './dialect/dialect.ts'
import { putRow } from './dialect/insert.ts'
import { prepared } from './dialect/prepared.ts'
import type { StsPolicyRow } from './tables.ts'

/** @param domain lower-case, A-labels */
export async function findStsPolicy(db: Db, domain: string): Promise<StsPolicyRow | undefined> {
  return byDomain(db, { domain })
}
const byDomain = prepared((db, { domain }: { domain: string }) =>
  db.selectFrom('stsPolicy').selectAll().where('domain', '=', domain),
).row

/** Writes the policy of a domain in the place of the one before. */
export async function putStsPolicy(db: WriteDb, row: StsPolicyRow): Promise<void> {
  await putRow(db, 'stsPolicy', row, ['domain'])
}

/** Deletes some that are over; gives how many. */
export async function deleteStsPoliciesBefore(db: WriteDb, before: string, limit: number): Promise<number> {
  const old = db
    .selectFrom('stsPolicy')
    .select('domain')
    .where('expiresAt', '<', before)
    .orderBy('expiresAt')
    .limit(limit)
  const done = await db.deleteFrom('stsPolicy').where('domain', 'in', old).executeTakeFirst()
  return Number(done.numDeletedRows)
}
