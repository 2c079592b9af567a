import type { Db, WriteDb } from './dialect/dialect.ts'
import { insertRow } from './dialect/insert.ts'
import { listMessagesById } from './messages.ts'
import { indexMessage, unindexMessages } from './search/full-text.ts'
import { wordsOfRow } from './search/row-words.ts'

/** Notes that the words of a message's body are not in the index yet. */
export async function insertUnindexedBody(db: WriteDb, messageId: string): Promise<void> {
  await insertRow(db, 'unindexedBody', { messageId })
}

/** Whether there is any. */
export async function hasUnindexedBody(db: Db): Promise<boolean> {
  return (await db.selectFrom('unindexedBody').select('messageId').limit(1).executeTakeFirst()) !== undefined
}

/** Puts the words of the body of one message, the oldest that lacks them, into the index. */
export async function indexOldestBody(db: WriteDb): Promise<void> {
  const oldest = await db
    .selectFrom('unindexedBody')
    .innerJoin('message', 'message.id', 'unindexedBody.messageId')
    .innerJoin('inbox', 'inbox.id', 'message.inboxId')
    .select(['message.id', 'inbox.podId'])
    .orderBy('unindexedBody.messageId')
    .limit(1)
    .executeTakeFirst()
  if (!oldest) return
  const { id, podId } = oldest
  const [row] = await listMessagesById(db, [id])
  await db.deleteFrom('unindexedBody').where('messageId', '=', id).execute()
  await unindexMessages(db, [id])
  await indexMessage(db, {
    ...row!,
    podId,
    hasAttachments: row!.attachments !== '[]',
    words: wordsOfRow(row!),
  })
}
