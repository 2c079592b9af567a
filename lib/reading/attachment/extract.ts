import { attachmentTextLength } from '../../base/lengths.ts'
import { decodeText, isSaid, markupCharset } from '../../mail/header/charset.ts'
import { htmlToText } from '../../mail/text/html.ts'
import { storable } from './collected.ts'
import { extractionMethodOf } from './method.ts'
import { officeText } from './office.ts'
import { pdfText } from './pdf.ts'

/** Entries of an archive, and bytes that they unpack to. */
export const archiveEntries = 10_000
const archiveInflatedBytes = 64 * 1024 * 1024

/** The text of an attachment; null with `unsupported` and `error`, when none could be had. */
export interface ExtractedText {
  readonly extractionMethod: ReturnType<typeof extractionMethodOf> | 'error'
  readonly text: string | null
}

/** An attachment with its bytes, as openAttachment gives it. */
interface Attached {
  readonly filename: string
  readonly contentType: string
  readonly charset: string
  readonly content: Buffer
}

/**
 * The text of an attachment, at the most attachmentTextLength of it. It is done where it can be stopped
 * (lib/reading/attachment/worker.ts), for it is all computing on what a stranger made.
 */
export async function extractText(attached: Attached): Promise<ExtractedText> {
  const method = extractionMethodOf(attached)
  try {
    const text = await textOf(method, attached)
    return { extractionMethod: method, text: text === null ? null : bounded(text) }
  } catch {
    return { extractionMethod: 'error', text: null }
  }
}

async function textOf(
  method: ReturnType<typeof extractionMethodOf>,
  { content, charset }: Attached,
): Promise<string | null> {
  const length = attachmentTextLength
  switch (method) {
    case 'pdf':
      return pdfText(content, length)
    case 'office':
      return officeText(content, {
        entries: archiveEntries,
        inflatedBytes: archiveInflatedBytes,
        length,
      })
    case 'html':
      return htmlToText(decode(content, isSaid(charset) ? charset : markupCharset(content)))
    case 'csv':
    case 'text':
      return decode(content, charset)
    case 'unsupported':
      return null
  }
}

/** No more bytes than could be of the text that is kept. */
function decode(content: Buffer, charset: string): string {
  const start = content.subarray(0, attachmentTextLength * 4)
  const text = decodeText(start, markedCharset(start) ?? charset)
  return text.replace(/^\uFEFF/, '').replaceAll('\r\n', '\n')
}

/** The charset that a byte order mark tells (Unicode §23.8), as Excel writes one. */
function markedCharset(bytes: Buffer): string | undefined {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le'
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be'
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 'utf-8' : undefined
}

function bounded(text: string): string {
  return storable(text.slice(0, attachmentTextLength))
}
