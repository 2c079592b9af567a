import { limits } from '../../base/limits.ts'
import { invalidRequest, Problem } from '../../base/problem.ts'
import { sha256HexOfMany } from '../../base/secret.ts'
import { baseAddress, normaliseAddress } from '../../mail/address/address.ts'
import type { OutgoingAttachment } from '../../mail/compose/attachment.ts'
import type { QuotedMessage } from '../../mail/compose/quote.ts'
import { receivedFilename } from '../../mail/message/filename.ts'
import type { AttachmentUpload, SendRequest } from '../../model/send.ts'
import type { WholeMessage } from '../../store/tables.ts'
import type { StoredAttachment } from '../mailbox/attachments.ts'

/** Whom a send goes to; every address lower-case, and each recipient once in `all`. */
export interface Addressees {
  readonly to: string
  readonly cc: readonly string[]
  readonly bcc: readonly string[]
  readonly replyTo: string | null
  /** to, cc and bcc in this order: one delivery for each. */
  readonly all: readonly string[]
}

/** @throws Problem `invalid_request` for what is no address or too many; `recipient_is_sender` */
export function readAddressees(request: SendRequest, sender: string): Addressees {
  const to = requireAddress(request.to, '/to')
  const cc = (request.cc ?? []).map((text, index) => requireAddress(text, `/cc/${index}`))
  const bcc = (request.bcc ?? []).map((text, index) => requireAddress(text, `/bcc/${index}`))
  const replyTo = request.replyTo === undefined ? null : requireAddress(request.replyTo, '/replyTo')
  const all = [...new Set([to, ...cc, ...bcc])]
  if (all.length > limits.sendRecipients) {
    throw invalidRequest('', `A message goes to at most ${limits.sendRecipients} recipients`)
  }
  const self = all.find(address => baseAddress(address) === sender)
  if (self !== undefined) {
    throw new Problem('recipient_is_sender', `An inbox can't send to itself (${self}).`, { recipient: self })
  }
  return { to, cc, bcc, replyTo, all }
}

/** The address in lower case. @throws Problem `invalid_request` that names `path` */
export function requireAddress(text: string, path: string): string {
  const address = normaliseAddress(text)
  if (address !== undefined) return address
  throw invalidRequest(`body${path}`, 'must be a bare email address such as ann@example.com')
}

const base64 = /^[A-Za-z0-9+/]*={0,2}$/

/** @throws Problem `invalid_request` for what is not base64; `attachments_too_large` above 25 MB together */
export function readAttachments(uploads: readonly AttachmentUpload[]): OutgoingAttachment[] {
  const attachments = uploads.map((upload, index) => ({
    filename: upload.filename,
    contentType: upload.contentType ?? 'application/octet-stream',
    content: readContent(upload, `body/attachments/${index}/content`),
  }))
  const sizeBytes = attachments.reduce((sum, attachment) => sum + attachment.content.length, 0)
  if (sizeBytes > limits.attachmentsBytes) throw new Problem('attachments_too_large')
  return attachments
}

function readContent({ content }: AttachmentUpload, path: string): Buffer {
  if (typeof content !== 'string') return content
  const compact = content.replace(/[ \t\n\v\f\r]+/g, '')
  if (!base64.test(compact) || compact.length % 4 === 1) throw invalidRequest(path, 'must be base64')
  return Buffer.from(compact, 'base64')
}

/** The request as it is compared with another: each attachment as what its bytes are, not how they came. */
export async function comparableRequest(request: SendRequest): Promise<unknown> {
  if (!request.attachments) return request
  const attachments = []
  for (const { content, ...rest } of request.attachments) {
    const bytes = typeof content === 'string' ? Buffer.from(content, 'base64') : content
    attachments.push({ ...rest, sha256: await sha256HexOfMany(bytes) })
  }
  return { ...request, attachments }
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
