import { singleLine } from '../header/text.ts'

export interface OutgoingAttachment {
  readonly filename: string
  readonly contentType: string
  readonly content: Buffer
}

const token = "[A-Za-z0-9!#$%&'*+.^_`{|}~-]{1,127}"
const mediaType = new RegExp(`^(${token}/${token})(?:\\s*;\\s*charset\\s*=\\s*"?(${token})"?)?\\s*(?:;|$)`)
const unknownType = 'application/octet-stream'

/**
 * The media type of an attachment as it may stand in its part (RFC 2045 §5.1), with a charset where it has one and no
 * other parameter. What is none, what would have to be parts of our own (multipart), and a message that cannot travel
 * unencoded as RFC 2046 §5.2.1 wants, is application/octet-stream. One with 8-bit data can, where the host takes 8BITMIME.
 */
export function attachmentType(contentType: string, content: Buffer): string {
  const [, type, charset] = mediaType.exec(contentType.trim()) ?? []
  if (type === undefined) return unknownType
  const lower = type.toLowerCase()
  if (lower.startsWith('multipart/')) return unknownType
  if (lower.startsWith('message/'))
    return lower === 'message/rfc822' && isMailData(content) ? lower : unknownType
  return charset === undefined ? lower : `${lower}; charset=${charset}`
}

/** The last part of a path, as one line of text; empty when nothing is left. */
export function attachmentFilename(filename: string): string {
  const name = filename.slice(Math.max(filename.lastIndexOf('/'), filename.lastIndexOf('\\')) + 1)
  // Readers take an encoded word for one even in a parameter, where there are none (RFC 2047 §5), and * for RFC 2231's.
  const line = singleLine(name).trim().replaceAll('=?', '=_').replaceAll('*', '_')
  return /^\.*$/.test(line) ? '' : line
}

/** Whether bytes are 7bit or 8bit data (RFC 2045 §2.7, §2.8): without NUL, CRLF alone, lines of at most 998 bytes. */
function isMailData(content: Buffer): boolean {
  let lineStart = 0
  for (let i = 0; i < content.length; i++) {
    const byte = content[i]!
    if (byte === 0) return false
    if ((byte === 10) !== (i > 0 && content[i - 1] === 13)) return false
    if (byte === 10) lineStart = i + 1
    else if (i - lineStart > 998) return false
  }
  return content.at(-1) !== 13
}
