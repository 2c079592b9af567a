import type { Db, WriteDb } from './dialect/dialect.ts'
import { insertRow, insertRows } from './dialect/insert.ts'
import type { RawRow } from './tables.ts'

export async function insertRaw(db: WriteDb, row: RawRow): Promise<void> {
  await insertRow(db, 'raw', row)
}

export async function insertRaws(db: WriteDb, rows: readonly RawRow[]): Promise<void> {
  await insertRows(db, 'raw', rows)
}

export async function findRaw(db: Db, id: string): Promise<RawRow | undefined> {
  return db.selectFrom('raw').selectAll().where('id', '=', id).executeTakeFirst()
}

/** Whether a row points at the file of this id: a raw, or an attachment of a draft. */
export async function isFileUsed(db: Db, id: string): Promise<boolean> {
  if (await findRaw(db, id)) return true
  const row = await db.selectFrom('draftAttachment').select('id').where('id', '=', id).executeTakeFirst()
  return row !== undefined
}

/** Whether there is any message. */
export async function hasMessages(db: Db): Promise<boolean> {
  return (await db.selectFrom('message').select('id').limit(1).executeTakeFirst()) !== undefined
}

/** Deletes the raw when no message refers to it any more; gives whether its file, if it has one, is to go too. */
export async function deleteUnusedRaw(db: WriteDb, id: string): Promise<boolean> {
  const done = await db
    .deleteFrom('raw')
    .where('id', '=', id)
    .where(eb =>
      eb.not(eb.exists(eb.selectFrom('message').select('message.id').where('message.rawId', '=', id))),
    )
    .executeTakeFirst()
  return done.numDeletedRows > 0n
}
