import { sql } from 'kysely'
import type { Db, WriteDb } from './dialect/dialect.ts'
import { insertRow } from './dialect/insert.ts'
import { indexMessage, unindexMessages } from './search/full-text.ts'
import type { SearchedRow } from './search/row-words.ts'
import { indexedTextLength, type SearchWords } from './search/words.ts'

/** Notes that the words of a message are not all in the index yet. */
export async function insertUnindexedBody(db: WriteDb, messageId: string): Promise<void> {
  await insertRow(db, 'unindexedBody', { messageId })
}

/** The oldest message that lacks words in the index, with what of its texts is indexed. */
export async function findUnindexed(db: Db): Promise<(SearchedRow & { id: string }) | undefined> {
  return db
    .selectFrom('unindexedBody')
    .innerJoin('message', 'message.id', 'unindexedBody.messageId')
    .innerJoin('reading', 'reading.id', 'message.readingId')
    .select(['message.id', 'fromAddr', 'headerTo', 'toAddr', 'cc', 'bcc', 'addressNames', 'subject'])
    .select(['reading.attachments', sql<string>`substr("bodyText", 1, ${indexedTextLength})`.as('bodyText')])
    .orderBy('unindexedBody.messageId')
    .limit(1)
    .executeTakeFirst()
}

/** Puts all words of a message into the index, in place of the few that are there; of one that was deleted meanwhile, none. */
export async function indexWhole(db: WriteDb, id: string, words: SearchWords): Promise<void> {
  const row = await db
    .selectFrom('unindexedBody')
    .innerJoin('message', 'message.id', 'unindexedBody.messageId')
    .innerJoin('inbox', 'inbox.id', 'message.inboxId')
    .innerJoin('reading', 'reading.id', 'message.readingId')
    .select(['message.id', 'message.inboxId', 'inbox.podId', 'message.threadId', 'message.category'])
    .select(['message.direction', 'message.createdAt', 'reading.attachments'])
    .where('unindexedBody.messageId', '=', id)
    .executeTakeFirst()
  if (!row) return
  await db.deleteFrom('unindexedBody').where('messageId', '=', id).execute()
  await unindexMessages(db, [id])
  await indexMessage(db, { ...row, hasAttachments: row.attachments !== '[]', words })
}
