import type { Db, WriteDb } from './dialect/dialect.ts'
import { addToRows } from './dialect/insert.ts'
import type { UsageRow } from './tables.ts'

/** Counts `count` more, in the write of what is counted; gives what it comes to. */
export async function addUsage(db: WriteDb, row: UsageRow): Promise<number> {
  const [count] = await addUsages(db, [row])
  return count!
}

/** The same for several that differ in kind. */
export async function addUsages(db: WriteDb, rows: readonly UsageRow[]): Promise<number[]> {
  const counted = await addToRows(db, 'usage', rows, ['subject', 'kind', 'period'], 'count')
  const counts = new Map(counted.map(({ kind, count }) => [kind, count]))
  return rows.map(({ kind, subject }) => {
    const count = counts.get(kind)
    if (count === undefined) throw new Error(`nothing counts ${kind} of ${subject}`)
    return count
  })
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
  db: WriteDb,
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
