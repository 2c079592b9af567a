import { singleLine } from '../header/text.ts'
import { type PackedFile, readTnef, type Tnef } from '../tnef/tnef.ts'
import { type AttachmentDescription, describeAttachment } from './attachment.ts'
import { receivedFilename, typeOfFilename } from './filename.ts'
import { isMediaType } from './media-type.ts'
import type { Part } from './part.ts'
import { decodeTransfer } from './transfer-encoding.ts'
import { mimeParts } from './uuencoded-files.ts'

/** An attachment with its bytes; its charset as its part says it, empty for none said. */
export interface OpenedAttachment extends AttachmentDescription {
  readonly charset: string
  readonly content: Buffer
}

/** The bytes of a part, without their encoding. */
function contentOf({ raw, start, end, encoding }: Part): Buffer {
  return decodeTransfer(raw.subarray(start, end), encoding)
}

/** Whether a part is said to be what Outlook packs attachments into, or called as that is. */
export function mayBeTnef({ contentType, filename }: Part): boolean {
  if (contentType === 'application/ms-tnef' || contentType === 'application/vnd.ms-tnef') return true
  return contentType === 'application/octet-stream' && /^winmail\d{0,4}\.dat$/i.test(filename ?? '')
}

/**
 * What a part that is an attachment brings: the files that are packed into it (TNEF), or itself; itself behind them when not all of
 * it could be read.
 * @param before how many attachments stand before it
 */
export function openPart(
  part: Part,
  before: number,
): { readonly attachments: readonly OpenedAttachment[]; readonly tnef: Tnef | undefined } {
  const content = contentOf(part)
  const tnef = mayBeTnef(part) ? readTnef(content, mimeParts - before) : undefined
  const files = (tnef?.files ?? []).map((file, at) => openFile(file, before + at + 1))
  if (tnef?.isWhole && files.length > 0) return { attachments: files, tnef }
  const itself = describeAttachment(part, before + files.length + 1)
  return { attachments: [...files, { ...itself, charset: part.charset, content }], tnef }
}

function openFile({ name, contentType: said = '', contentId, content }: PackedFile, number: number) {
  const contentType = isMediaType(said) && said !== 'application/octet-stream' ? said : typeOfFilename(name)
  return {
    filename: receivedFilename(name, contentType, number),
    contentType,
    contentId: contentId === undefined ? null : singleLine(contentId),
    isInline: contentId !== undefined,
    charset: '',
    content,
  }
}
