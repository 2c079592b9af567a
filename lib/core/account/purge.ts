import { isoAfter } from '../../base/time.ts'
import { deleteContacts } from '../../store/contacts.ts'
import { deleteForwardConfirmations } from '../../store/forward-confirmations.ts'
import { deleteUnusedRaw } from '../../store/raws.ts'
import {
  deleteMessages,
  deleteThreads,
  findDeletedInboxMessages,
  findPurgeableInbox,
  setInboxPurged,
} from '../../store/removal.ts'
import { sweepRows } from '../../store/sweeps.ts'
import type { App } from '../app/app.ts'
import { deleteSomeDrafts } from '../drafts/drafts.ts'

/**
 * Deletes what deleted inboxes have left: some messages, or, when its messages are gone, an inbox's drafts,
 * its threads, its acquaintances and what was asked of forwarding. The row of the inbox stays for ever. Gives how many rows went.
 */
export async function purgeDeletedInboxes(app: App): Promise<number> {
  const inboxId = await findPurgeableInbox(app.store.read)
  if (inboxId === undefined) return 0
  const files: string[] = []
  const holdsInbox = () => ({ inboxes: [inboxId] })
  const count = await app.store.writeHolding(holdsInbox, async db => {
    files.length = 0
    const messages = await findDeletedInboxMessages(db, inboxId, sweepRows)
    if (messages.length === 0) {
      const drafts = await deleteSomeDrafts(app, db, inboxId)
      files.push(...drafts.files)
      if (drafts.count > 0) return drafts.count
      // Younger ones still count against the limit of such mails; they go when their time is over.
      const before = isoAfter(app.clock.now(), -3_600_000)
      const threads =
        (await deleteThreads(db, inboxId, sweepRows)) ||
        (await deleteContacts(db, inboxId, sweepRows)) ||
        (await deleteForwardConfirmations(db, { before, inboxId }, sweepRows))
      if (threads === 0) await setInboxPurged(db, inboxId, app.clock.now().toISOString())
      return Math.max(threads, 1)
    }
    await deleteMessages(
      db,
      messages.map(message => message.id),
    )
    for (const { rawId } of messages) {
      if (rawId !== null && (await deleteUnusedRaw(db, rawId))) files.push(rawId)
    }
    return messages.length
  })
  for (const id of files) await app.blobs.remove(id)
  return count
}
