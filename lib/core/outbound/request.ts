import { attachmentsBytes, invalidRequest, Problem } from '../../base/problem.ts'
import { sha256HexOfMany } from '../../base/secrets.ts'
import type { OutgoingAttachment } from '../../mail/compose/attachment.ts'
import type { QuotedMessage } from '../../mail/compose/quote.ts'
import type { Mailbox } from '../../mail/header/mailbox.ts'
import { receivedFilename } from '../../mail/message/filename.ts'
import type { AttachmentUpload, SendRequest } from '../../model/send.ts'
import type { WholeMessage } from '../../store/tables.ts'
import type { StoredAttachment } from '../mailbox/attachments.ts'
import { readNamed } from './addressees.ts'

const base64 = /^[A-Za-z0-9+/]*={0,2}$/

/** @throws Problem `invalid_request` for what is not base64; `attachments_too_large` above 25 MB together */
export function readAttachments(uploads: readonly AttachmentUpload[]): OutgoingAttachment[] {
  const attachments = uploads.map((upload, index) => ({
    filename: upload.filename,
    contentType: upload.contentType ?? 'application/octet-stream',
    content: readContent(upload.content, `body/attachments/${index}/content`),
  }))
  requireSmall(attachments)
  return attachments
}

/** @throws Problem `attachments_too_large` above 25 MB together */
export function requireSmall(attachments: readonly OutgoingAttachment[]): void {
  const sizeBytes = attachments.reduce((sum, attachment) => sum + attachment.content.length, 0)
  if (sizeBytes > attachmentsBytes) throw new Problem('attachments_too_large')
}

/** The bytes of an attachment. @throws Problem `invalid_request` that names `path` for what is not base64 */
export function readContent(content: string | Buffer, path: string): Buffer {
  if (typeof content !== 'string') return content
  const compact = content.replace(/[ \t\n\v\f\r]+/g, '')
  if (!base64.test(compact) || compact.length % 4 === 1) throw invalidRequest(path, 'must be base64')
  return Buffer.from(compact, 'base64')
}

/**
 * What makes two requests the same one: each person is a bare address, however it was written; each attachment what its
 * bytes are, not how they came.
 * @throws Problem `invalid_request` for what is no address
 */
export async function comparableRequest(
  request: Omit<SendRequest, 'body'> & { body?: string },
): Promise<unknown> {
  const named = readNamed(request)
  const { to, cc, bcc, attachments, ...rest } = request
  const addresses = (people: readonly Mailbox[]) => people.map(({ address }) => address)
  return {
    ...rest,
    ...(to !== undefined && { to: addresses(named.to) }),
    ...(cc !== undefined && { cc: addresses(named.cc) }),
    ...(bcc !== undefined && { bcc: addresses(named.bcc) }),
    ...(attachments && { attachments: await Promise.all(attachments.map(comparableAttachment)) }),
  }
}

async function comparableAttachment({ content, ...rest }: AttachmentUpload): Promise<unknown> {
  const bytes = typeof content === 'string' ? Buffer.from(content, 'base64') : content
  return { ...rest, sha256: await sha256HexOfMany(bytes) }
}

/**
 * What the row says of an attachment: the same as if it had come in, so that its URL and its type are sound.
 * @param contentType as its part says it
 */
export function storedAttachment(
  filename: string,
  contentType: string,
  sizeBytes: number,
  index: number,
): StoredAttachment {
  const type = contentType.replace(/;.*/, '')
  return { filename: receivedFilename(filename, type, index + 1), contentType: type, sizeBytes }
}

/** What a reply quotes of the message that it answers, unless it is asked not to; null for nothing. */
export function quotedBy(request: SendRequest, parent: WholeMessage | undefined): QuotedMessage | null {
  if (!parent || request.includeQuote === false) return null
  const names =
    parent.addressNames === null ? {} : (JSON.parse(parent.addressNames) as Record<string, string>)
  return {
    text: parent.bodyText,
    html: parent.bodyHtml === '' ? null : parent.bodyHtml,
    date: new Date(parent.createdAt),
    from: { address: parent.fromAddr, name: names[parent.fromAddr.toLowerCase()] ?? null },
  }
}
