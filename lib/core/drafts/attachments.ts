import { openContent } from '../../blob/content.ts'
import type { OutgoingAttachment } from '../../mail/compose/attachment.ts'
import type { AttachmentUpload } from '../../model/send.ts'
import { findDraftContent, listDraftAttachments } from '../../store/drafts.ts'
import type { DraftAttachmentRow } from '../../store/tables.ts'
import type { App } from '../app/app.ts'
import { keepBytes } from '../mailbox/raws.ts'
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
    rows.push({ id, draftId, filename, contentType, sizeBytes: content.length, content: kept })
  }
  return rows
}

/** Removes the files of attachments; an attachment without a file is passed over. */
export async function removeFiles(app: App, attachmentIds: readonly string[]): Promise<void> {
  for (const id of attachmentIds) await app.disk.remove(id)
}

/** The attachments with their bytes; undefined when they were taken away meanwhile. */
export async function loadAttachments(app: App, draftId: string): Promise<OutgoingAttachment[] | undefined> {
  const attachments: OutgoingAttachment[] = []
  for (const { id, filename, contentType } of await listDraftAttachments(app.store.read, [draftId])) {
    const content = (await findDraftContent(app.store.read, id)) ?? (await readFile(app, id))
    if (!content) return undefined
    attachments.push({ filename, contentType, content })
  }
  return attachments
}

async function readFile(app: App, id: string): Promise<Buffer | undefined> {
  const content = await app.disk.find(id)
  return content && Buffer.concat(await openContent(content).toArray())
}
