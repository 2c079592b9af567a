import type { Db } from './dialect.ts'
import { addToInbox } from './inboxes.ts'
import { deleteMessages } from './purge.ts'
import { deleteUnusedRaw } from './raws.ts'
import type { MessageRow, ThreadRow } from './tables.ts'

/** What of a message its deletion needs. */
export type Deletable = Pick<MessageRow, 'id' | 'direction' | 'rawId'>

/** Some messages of a thread, at most `limit`. */
export async function listDeletableMessages(db: Db, threadId: string, limit: number): Promise<Deletable[]> {
  return db
    .selectFrom('message')
    .select(['id', 'direction', 'rawId'])
    .where('threadId', '=', threadId)
    .orderBy('id')
    .limit(limit)
    .execute()
}

/**
 * Deletes messages of one thread with all that is theirs alone; the thread goes with its last message, and the counters
 * of both and of the inbox follow. Gives the raws that went, whose files are to be removed after the commit.
 */
export async function deleteFromThread(
  db: Db,
  thread: ThreadRow,
  messages: readonly Deletable[],
): Promise<string[]> {
  const ids = messages.map(message => message.id)
  if (ids.length > 0) await deleteMessages(db, ids)
  const inbound = messages.filter(message => message.direction === 'inbound').length
  const newest = await db
    .selectFrom('message')
    .select('createdAt')
    .where('threadId', '=', thread.id)
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
  if (newest) {
    await db
      .updateTable('thread')
      .set(eb => ({ messageCount: eb('messageCount', '-', ids.length), lastMessageAt: newest.createdAt }))
      .where('id', '=', thread.id)
      .execute()
  } else {
    await db.deleteFrom('thread').where('id', '=', thread.id).execute()
  }
  await addToInbox(db, thread.inboxId, {
    inbound: -inbound,
    outbound: inbound - ids.length,
    threads: newest ? 0 : -1,
    unreadThreads: newest || thread.isRead ? 0 : -1,
  })
  const gone: string[] = []
  for (const { rawId } of messages) {
    if (rawId !== null && (await deleteUnusedRaw(db, rawId))) gone.push(rawId)
  }
  return gone
}
