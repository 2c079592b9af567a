import { sliceBytes } from '../../base/concurrency.ts'
import { inSlices } from '../../base/files.ts'
import { isId } from '../../base/ids.ts'
import type { BlobFile } from '../../blob/blobs.ts'
import { openContent } from '../../blob/content.ts'
import type { OutgoingAttachment } from '../../mail/compose/attachment.ts'
import type { AttachmentUpload } from '../../model/send.ts'
import { findDraft, findDraftAttachment, listDraftAttachments } from '../../store/drafts.ts'
import { findInbox } from '../../store/inboxes.ts'
import type { DraftAttachmentRow } from '../../store/tables.ts'
import type { App } from '../app/app.ts'
import { type Caller, reachesInbox } from '../app/caller.ts'
import { noSuchMessage } from '../app/reach.ts'
import { type AttachmentUrl, type OpenedAttachment, requireSigned } from '../mailbox/attachments.ts'
import { findFile, keepBytes } from '../mailbox/raws.ts'
import { readAttachments } from '../outbound/request.ts'

/** Makes the bytes of attachments durable and gives their rows, for the write that must follow. */
export async function keepAttachments(
  app: App,
  draftId: string,
  uploads: readonly AttachmentUpload[],
): Promise<DraftAttachmentRow[]> {
  const rows: DraftAttachmentRow[] = []
  for (const { filename, contentType, content } of readAttachments(uploads)) {
    const id = app.ids.next()
    const kept = await keepBytes(app, id, [content])
    rows.push({ id, draftId, filename, contentType, ...kept })
  }
  return rows
}

/** Removes the files of attachments; an attachment without a file is passed over. */
export async function removeFiles(app: App, attachmentIds: readonly string[]): Promise<void> {
  for (const id of attachmentIds) await app.blobs.remove(id)
}

/** The attachments with their bytes; undefined when they were taken away meanwhile. */
export async function loadAttachments(app: App, draftId: string): Promise<OutgoingAttachment[] | undefined> {
  const attachments: OutgoingAttachment[] = []
  for (const row of await listDraftAttachments(app.store.read, [draftId])) {
    const { filename, contentType } = row
    const content = (await findDraftAttachment(app.store.read, row.id))?.content ?? (await readFile(app, row))
    if (!content) return undefined
    attachments.push({ filename, contentType, content })
  }
  return attachments
}

async function readFile(app: App, file: BlobFile): Promise<Buffer | undefined> {
  const content = await findFile(app, file)
  return content && Buffer.concat(await openContent(content).toArray())
}

/**
 * An attachment of a draft that was not sent: for a caller who reaches the draft, or for whoever has an URL that was signed
 * here and is still good. Undefined: no draft has an attachment of this id.
 * @throws Problem `unauthorized`; `not_found` for a draft that the caller does not reach, as if nothing had this id
 */
export async function openDraftAttachment(
  app: App,
  caller: Caller | undefined,
  url: AttachmentUrl,
): Promise<OpenedAttachment | undefined> {
  const isSigned = await requireSigned(app, caller, url)
  const db = app.store.read
  const id = isId(url.messageId) && url.index === 0 ? url.messageId.toLowerCase() : undefined
  const row = id === undefined ? undefined : await findDraftAttachment(db, id)
  const draft = row && (await findDraft(db, row.draftId))
  const inbox = draft && (await findInbox(db, draft.inboxId))
  if (!row || !draft || draft.status === 'sent' || !inbox) return undefined
  if (!isSigned && !reachesInbox(caller!, inbox)) throw noSuchMessage()
  const { filename, contentType, sizeBytes } = row
  const content = row.content ?? (await readFile(app, row))
  return content && { filename, contentType, sizeBytes, content: inSlices(content, sliceBytes) }
}
