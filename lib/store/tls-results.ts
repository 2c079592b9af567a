import { sql } from 'kysely'
import type { Db, WriteDb } from './dialect/dialect.ts'
import { insertRowOnce } from './dialect/insert.ts'
import { prepared } from './dialect/prepared.ts'
import type { TlsResultRow } from './tables.ts'

/** Rows of TLS results of one day and domain. */
export const tlsResultRows = 100

/** One result to be counted. */
export interface TlsResultKey {
  readonly policyDomain: string
  readonly policyType: string
  readonly type: string
  readonly host: string
}

/** Counts how TLS went, on the day of `at`. Of hosts for which a domain has no room any more the name is left out. */
export async function countTlsResults(
  db: WriteDb,
  results: readonly TlsResultKey[],
  at: string,
): Promise<void> {
  const day = at.slice(0, 10)
  for (const { policyDomain: domain, policyType, type, host } of results) {
    const given = { day, domain, policyType, type, host }
    if ((await countMore(db, given)) > 0) continue
    const { rows } = await db
      .selectFrom('tlsResult')
      .select(eb => eb.fn.countAll<number>().as('rows'))
      .where('day', '=', day)
      .where('domain', '=', domain)
      .executeTakeFirstOrThrow()
    const key = Number(rows) < tlsResultRows ? given : { ...given, host: '' }
    const columns = ['day', 'domain', 'policyType', 'type', 'host'] as const
    await insertRowOnce(db, 'tlsResult', { ...key, count: 0, reportedAt: null }, columns)
    await countMore(db, key)
  }
}
const countMore = prepared((db, given: Omit<TlsResultRow, 'count' | 'reportedAt'> & Record<string, string>) =>
  db
    .updateTable('tlsResult')
    .set(eb => ({ count: eb('count', '+', 1) }))
    .where('day', '=', given.day)
    .where('domain', '=', given.domain)
    .where('policyType', '=', given.policyType)
    .where('type', '=', given.type)
    .where('host', '=', given.host),
).change

/** The earliest days and their domains that were not reported, of those before `day`. */
export async function listUnreported(
  db: Db,
  day: string,
  limit: number,
): Promise<{ readonly day: string; readonly domain: string }[]> {
  return db
    .selectFrom('tlsResult')
    .select(['day', 'domain'])
    .distinct()
    .where('reportedAt', 'is', null)
    .where('day', '<', day)
    .orderBy('day')
    .orderBy('domain')
    .limit(limit)
    .execute()
}

/** What was counted of a domain on a day, and not reported yet. */
export async function listTlsResults(db: Db, day: string, domain: string): Promise<TlsResultRow[]> {
  return db
    .selectFrom('tlsResult')
    .selectAll()
    .where('day', '=', day)
    .where('domain', '=', domain)
    .where('reportedAt', 'is', null)
    .orderBy('policyType')
    .orderBy('type')
    .orderBy('host')
    .execute()
}

/** Notes that a day of a domain was reported; false when another process did. */
export async function setTlsResultsReported(
  db: WriteDb,
  { day, domain }: { readonly day: string; readonly domain: string },
  at: string,
): Promise<boolean> {
  const done = await db
    .updateTable('tlsResult')
    .set({ reportedAt: at })
    .where('day', '=', day)
    .where('domain', '=', domain)
    .where('reportedAt', 'is', null)
    .executeTakeFirst()
  return Number(done.numUpdatedRows) > 0
}

/** Whom reports were put into the queue for since then, once for each report. */
export async function listReportRecipients(db: Db, since: string): Promise<string[]> {
  const rows = await db
    .selectFrom('delivery')
    .select('recipient')
    .where('purpose', '=', sql.lit('report'))
    .where('createdAt', '>=', since)
    .execute()
  return rows.map(({ recipient }) => recipient)
}

/** Deletes some results of days before `day`; gives how many. */
export async function deleteTlsResultsBefore(db: WriteDb, day: string, limit: number): Promise<number> {
  const old = await db
    .selectFrom('tlsResult')
    .select(['day', 'domain'])
    .distinct()
    .where('day', '<', day)
    .orderBy('day')
    .limit(limit)
    .execute()
  for (const one of old)
    await db.deleteFrom('tlsResult').where('day', '=', one.day).where('domain', '=', one.domain).execute()
  return old.length
}
