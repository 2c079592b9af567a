import type { Listed, Page } from '../model/page.ts'
import type { Db, WriteDb } from './dialect/dialect.ts'
import { insertRow } from './dialect/insert.ts'
import type { FeedbackRow } from './tables.ts'

export async function insertFeedback(db: WriteDb, row: FeedbackRow): Promise<void> {
  await insertRow(db, 'feedback', row)
}

/** Newest first. */
export async function listFeedback(db: Db, page: Page): Promise<Listed<FeedbackRow>> {
  const rows = await db
    .selectFrom('feedback')
    .selectAll()
    .orderBy('id', 'desc')
    .limit(page.limit)
    .offset(page.offset)
    .execute()
  const { count } = await db
    .selectFrom('feedback')
    .select(eb => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return { rows, total: Number(count) }
}

/** Keeps the `count` newest. */
export async function deleteOldFeedback(db: WriteDb, count: number): Promise<void> {
  const old = await db
    .selectFrom('feedback')
    .select('id')
    .orderBy('id', 'desc')
    .limit(1)
    .offset(count)
    .executeTakeFirst()
  if (old) await db.deleteFrom('feedback').where('id', '<=', old.id).execute()
}
