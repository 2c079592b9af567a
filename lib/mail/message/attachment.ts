import { singleLine } from '../header/text.ts'
import { receivedFilename, typeOfFilename } from './filename.ts'
import type { Part } from './part.ts'
import { isMultipart } from './part-tree.ts'
import { decodeUuencode } from './uuencode.ts'

export interface AttachmentDescription {
  readonly filename: string
  readonly contentType: string
  /** Without angle brackets. */
  readonly contentId: string | null
  /** Meant to be shown in the text, such as an image of the HTML. */
  readonly isInline: boolean
}

/**
 * Whether a part that holds no others is an attachment, and not text to be shown. A text with a filename behind the text
 * of the message is a file, though some programs (Apple's) call it inline.
 * @param hasText whether a part before it is shown
 */
export function isAttachment(part: Part, hasText: boolean): boolean {
  // A multipart without parts: whatever it holds is text.
  if (isMultipart(part)) return false
  if (part.disposition === 'attachment') return true
  if (part.contentType === 'message/delivery-status') return false
  if (!isText(part)) return true
  return part.filename !== undefined && hasText && part.parent?.contentType !== 'multipart/alternative'
}

function isText({ contentType }: Part): boolean {
  return contentType === 'text/plain' || contentType === 'text/html'
}

/** Describes an attachment. @param number its place among all attachments, from 1 */
export function describeAttachment(part: Part, number: number): AttachmentDescription {
  const filename = part.filename ?? uuencodedName(part)
  const contentType =
    part.contentType === 'application/octet-stream' ? typeOfFilename(filename) : part.contentType
  const contentId = singleLine(part.contentId).replace(/^<|>$/g, '')
  return {
    filename: receivedFilename(filename, contentType, number),
    contentType,
    contentId: contentId === '' ? null : contentId,
    isInline: (part.disposition === 'inline' && !isText(part)) || (contentId !== '' && isRelated(part)),
  }
}

function uuencodedName({ encoding, raw, start, end }: Part): string | undefined {
  return /uue/.test(encoding)
    ? decodeUuencode(raw.subarray(start, Math.min(end, start + 4096))).name
    : undefined
}

/** Whether it stands in a multipart/related (RFC 2387), however deep. */
function isRelated(part: Part): boolean {
  let parent = part.parent
  while (parent && parent.contentType !== 'multipart/related') parent = parent.parent
  return parent !== undefined
}
