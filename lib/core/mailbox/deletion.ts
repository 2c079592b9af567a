import { limits } from '../../base/limits.ts'
import type { WriteDb } from '../../store/dialect/dialect.ts'
import { deleteFromThread, listDeletableMessages } from '../../store/removal.ts'
import { findThread } from '../../store/threads.ts'
import type { App } from '../app/app.ts'
import type { Caller } from '../app/caller.ts'
import { getMessageRow, getThreadRow } from '../app/reach.ts'

/**
 * Deletes a message for good, with its deliveries: recipients that were still queued do not get it. Its thread goes when
 * it was the only message there.
 * @throws Problem `not_found`
 */
export async function deleteMessage(app: App, caller: Caller, id: string): Promise<void> {
  await writeAndRemove(app, async db => {
    const message = await getMessageRow(db, caller, id)
    const thread = await findThread(db, message.threadId)
    if (!thread) throw new Error(`message ${message.id} has no thread`)
    return deleteFromThread(db, thread, [message])
  })
}

/**
 * Deletes a thread with its messages. A long one goes in steps, so that no write is long; one that was cut off leaves a
 * shorter thread, and can be repeated.
 * @throws Problem `not_found`
 */
export async function deleteThread(app: App, caller: Caller, id: string): Promise<void> {
  const { id: threadId } = await getThreadRow(app.store.read, caller, id)
  for (let isThere = true; isThere; ) {
    await writeAndRemove(app, async db => {
      const thread = await findThread(db, threadId)
      const messages = thread ? await listDeletableMessages(db, threadId, limits.sweepRows) : []
      const gone = thread ? await deleteFromThread(db, thread, messages) : []
      isThere = (await findThread(db, threadId)) !== undefined
      return gone
    })
  }
}

/** Writes, and removes files after the commit. @param write gives the raws that went; their files go after the commit */
export async function writeAndRemove(app: App, write: (db: WriteDb) => Promise<string[]>): Promise<void> {
  for (const rawId of await app.store.write(write)) await app.blobs.remove(rawId)
}
