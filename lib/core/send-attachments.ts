import { limits } from '../base/limits.ts'
import { Problem } from '../base/problem.ts'
import { attachmentType, type OutgoingAttachment } from '../mail/attachment-part.ts'
import { receivedFilename } from '../mail/filename.ts'
import type { AttachmentUpload } from '../model/send.ts'
import type { StoredAttachment } from './messages.ts'

const base64 = /^[A-Za-z0-9+/]*={0,2}$/

/** @throws Problem `invalid_request` for what is not base64; `attachments_too_large` above 25 MB together */
export function readAttachments(uploads: readonly AttachmentUpload[]): OutgoingAttachment[] {
  const attachments = uploads.map(({ filename, contentType, content }, index) => {
    const compact = content.replace(/\s+/g, '')
    if (!base64.test(compact) || compact.length % 4 === 1) {
      const path = `/attachments/${index}/content`
      const message = `${path} must be base64.`
      throw new Problem('invalid_request', message, { details: [{ path, message }] })
    }
    return {
      filename,
      contentType: contentType ?? 'application/octet-stream',
      content: Buffer.from(compact, 'base64'),
    }
  })
  const sizeBytes = attachments.reduce((sum, attachment) => sum + attachment.content.length, 0)
  if (sizeBytes > limits.attachmentsBytes) throw new Problem('attachments_too_large')
  return attachments
}

/** What the row says of an attachment: the same as if it had come in, so that its URL and its type are sound. */
export function storedAttachment(attachment: OutgoingAttachment, index: number): StoredAttachment {
  const contentType = attachmentType(attachment.contentType, attachment.content).replace(/;.*/, '')
  return {
    filename: receivedFilename(attachment.filename, contentType, index + 1),
    contentType,
    sizeBytes: attachment.content.length,
  }
}
