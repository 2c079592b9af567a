import type { WriteDb } from '../../store/dialect/dialect.ts'
import { deleteFromThread, listDeletableMessages } from '../../store/removal.ts'
import { sweepRows } from '../../store/sweeps.ts'
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
  const { inboxId } = await getMessageRow(app.store.read, caller, id)
  await writeAndRemove(app, inboxId, async db => {
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
  const { id: threadId, inboxId } = await getThreadRow(app.store.read, caller, id)
  for (let isThere = true; isThere; ) {
    await writeAndRemove(app, inboxId, async db => {
      const thread = await findThread(db, threadId)
      const messages = thread ? await listDeletableMessages(db, threadId, sweepRows) : []
      const gone = thread ? await deleteFromThread(db, thread, messages) : []
      isThere = (await findThread(db, threadId)) !== undefined
      return gone
    })
  }
}

/** Deletes from an inbox. @param write returns the raws that went; their files go after the commit */
export async function writeAndRemove(
  app: App,
  inboxId: string,
  write: (db: WriteDb) => Promise<string[]>,
): Promise<void> {
  const gone = await app.store.writeHolding(() => ({ inboxes: [inboxId] }), write)
  for (const rawId of gone) await app.blobs.remove(rawId)
}
