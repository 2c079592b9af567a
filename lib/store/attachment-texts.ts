import { sql } from 'kysely'
import type { Db, WriteDb } from './dialect/dialect.ts'
import { insertRowOnce } from './dialect/insert.ts'
import type { AttachmentTextRow } from './tables.ts'

/** Keeps the text of an attachment, unless it is kept already. Gives false, and keeps none, when the reading is gone. */
export async function insertAttachmentText(db: WriteDb, row: AttachmentTextRow): Promise<boolean> {
  const reading = await db
    .selectFrom('reading')
    .select('id')
    .where('id', '=', row.readingId)
    .executeTakeFirst()
  if (!reading) return false
  await insertRowOnce(db, 'attachmentText', row, ['readingId', 'index'])
  return true
}

export async function findAttachmentText(
  db: Db,
  readingId: string,
  index: number,
): Promise<AttachmentTextRow | undefined> {
  return db
    .selectFrom('attachmentText')
    .selectAll()
    .where('readingId', '=', readingId)
    .where('index', '=', index)
    .executeTakeFirst()
}

/** The beginnings, of `length` characters, of the texts of attachments of these readings: at most `limit` of them. */
export async function listAttachmentTexts(
  db: Db,
  readingIds: readonly string[],
  length: number,
  limit: number,
): Promise<Omit<AttachmentTextRow, 'createdAt'>[]> {
  return db
    .selectFrom('attachmentText')
    .select(['readingId', 'index', 'extractionMethod'])
    .select(sql<string | null>`substr("content", 1, ${sql.lit(length)})`.as('content'))
    .where('readingId', 'in', readingIds)
    .orderBy('readingId', 'desc')
    .orderBy('index')
    .limit(limit)
    .execute()
}
