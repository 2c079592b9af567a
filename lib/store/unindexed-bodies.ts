import { sql } from 'kysely'
import { type Db, dialectOf, type WriteDb } from './dialect/dialect.ts'
import { leftRows } from './dialect/left-rows.ts'
import { indexMessages, unindexMessages } from './search/full-text.ts'
import { textsOfRow } from './search/row-words.ts'
import { indexedTextLength, type SearchTexts, type SearchWords } from './search/words.ts'
import type { MessageRow } from './tables.ts'

/** A message that is to be put into the index. */
export interface Unindexed
  extends Pick<MessageRow, 'id' | 'inboxId' | 'threadId' | 'category' | 'direction' | 'createdAt'> {
  readonly podId: string
  readonly hasAttachments: boolean
  /** What stands in its row may be anything. */
  texts(): SearchTexts
  /** Whether some of its words are in the index already. */
  readonly isPartial: boolean
}

/** Notes that these messages are to be put into the index, in the write that inserts them. */
export function leaveUnindexed(db: WriteDb, messageIds: readonly string[]): void {
  for (const messageId of messageIds) leftRows(db).unindexed.push({ messageId, state: 'new' })
}

/**
 * The oldest messages that are to be put into the index: `most.count` at the most, with so many bytes of texts, but one at least; and
 * whether these are all.
 */
export async function listUnindexed(
  db: Db,
  most: { readonly count: number; readonly bytes: number },
): Promise<{ readonly rows: Unindexed[]; readonly isAll: boolean }> {
  const sizes = await db
    .selectFrom('unindexedBody')
    .innerJoin('message', 'message.id', 'unindexedBody.messageId')
    .innerJoin('reading', 'reading.id', 'message.readingId')
    .select(['message.id', sql<number>`octet_length("reading"."bodyText")`.as('bytes')])
    .where('unindexedBody.state', '<>', 'failed')
    .orderBy('unindexedBody.messageId')
    .limit(most.count)
    .execute()
  let bytes = 0
  const ids = sizes
    .filter((one, index) => {
      bytes += Number(one.bytes)
      return index === 0 || bytes <= most.bytes
    })
    .map(({ id }) => id)
  if (ids.length === 0) return { rows: [], isAll: true }
  const rows = await db
    .selectFrom('unindexedBody')
    .innerJoin('message', 'message.id', 'unindexedBody.messageId')
    .innerJoin('inbox', 'inbox.id', 'message.inboxId')
    .innerJoin('reading', 'reading.id', 'message.readingId')
    .select(['message.id', 'message.inboxId', 'inbox.podId', 'message.threadId', 'message.category'])
    .select(['message.direction', 'message.createdAt', 'fromAddr', 'headerTo', 'toAddr', 'cc', 'bcc'])
    .select(['addressNames', 'message.subject', 'reading.attachments', 'unindexedBody.state'])
    .select(sql<string>`substr("bodyText", 1, ${sql.lit(indexedTextLength)})`.as('bodyText'))
    .where('message.id', 'in', ids)
    .orderBy('message.id')
    .execute()
  const unindexed = rows.map(row => ({
    ...row,
    hasAttachments: row.attachments !== '[]',
    texts: () => textsOfRow(row),
    isPartial: row.state === 'partial',
  }))
  return { rows: unindexed, isAll: sizes.length < most.count && ids.length === sizes.length }
}

/**
 * Returns those of these that are still to be indexed: none was deleted meanwhile. On PostgreSQL they stay so until the end of the
 * write: a deletion waits for it, and deletes what was indexed then.
 */
export async function stillUnindexed(db: WriteDb, ids: readonly string[]): Promise<ReadonlySet<string>> {
  const found = db.selectFrom('unindexedBody').select('messageId').where('messageId', 'in', ids)
  const locked = dialectOf(db) === 'postgres' ? found.orderBy('messageId').forUpdate() : found
  return new Set((await locked.execute()).map(({ messageId }) => messageId))
}

/** Puts the words of messages into the index, in place of those that are there. */
export async function putIntoIndex(
  db: WriteDb,
  messages: readonly (Omit<Unindexed, 'texts'> & { readonly words: SearchWords })[],
): Promise<void> {
  await unindexMessages(
    db,
    messages.filter(({ isPartial }) => isPartial).map(({ id }) => id),
  )
  await indexMessages(db, messages)
}

/** These are in the index now. */
export async function dropUnindexed(db: WriteDb, messageIds: readonly string[]): Promise<void> {
  await db.deleteFrom('unindexedBody').where('messageId', 'in', messageIds).execute()
}

/** Leaves out the words of a message that can't be indexed, so that those behind it have their turn: it stands in lists alone. */
export async function passOver(db: WriteDb, message: Omit<Unindexed, 'texts'>): Promise<void> {
  const { id: messageId } = message
  if ((await stillUnindexed(db, [messageId])).size === 0) return
  await putIntoIndex(db, [{ ...message, words: { from: '', to: '', subject: '', body: '' } }])
  await db.updateTable('unindexedBody').set({ state: 'failed' }).where('messageId', '=', messageId).execute()
}

/** Has those that were left out tried once more: perhaps another program can. */
export async function retryPassedOver(db: WriteDb): Promise<void> {
  await db.updateTable('unindexedBody').set({ state: 'partial' }).where('state', '=', 'failed').execute()
}
