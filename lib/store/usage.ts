import type { Db } from './dialect/dialect.ts'
import type { UsageRow } from './tables.ts'

/** Counts `count` more, in the write of what is counted; gives what it comes to. */
export async function addUsage(db: Db, row: UsageRow): Promise<number> {
  const { subject, kind, period, count } = row
  const counted = await db
    .insertInto('usage')
    .values({ subject, kind, period, count })
    .onConflict(conflict =>
      conflict
        .columns(['subject', 'kind', 'period'])
        .doUpdateSet(eb => ({ count: eb('usage.count', '+', count) })),
    )
    .returning('count')
    .executeTakeFirstOrThrow()
  return counted.count
}

export async function findUsage(db: Db, subject: string, kind: string, period: string): Promise<number> {
  const row = await db
    .selectFrom('usage')
    .select('count')
    .where('subject', '=', subject)
    .where('kind', '=', kind)
    .where('period', '=', period)
    .executeTakeFirst()
  return row?.count ?? 0
}

/** Of all subjects together. */
export async function sumUsage(db: Db, kind: string, period: string): Promise<number> {
  const row = await db
    .selectFrom('usage')
    .select(eb => eb.fn.sum<number | null>('count').as('sum'))
    .where('kind', '=', kind)
    .where('period', '=', period)
    .executeTakeFirst()
  return Number(row?.sum ?? 0)
}

/** Deletes at most `limit` counts of `kind` for periods before `period`; gives how many. */
export async function deleteUsageBefore(
  db: Db,
  kind: string,
  period: string,
  limit: number,
): Promise<number> {
  const old = await db
    .selectFrom('usage')
    .select(['subject', 'period'])
    .where('kind', '=', kind)
    .where('period', '<', period)
    .limit(limit)
    .execute()
  for (const one of old) {
    await db
      .deleteFrom('usage')
      .where('subject', '=', one.subject)
      .where('kind', '=', kind)
      .where('period', '=', one.period)
      .execute()
  }
  return old.length
}
