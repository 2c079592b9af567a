import { readParameters } from '../header/parameters.ts'
import { singleLine } from '../header/text.ts'

export interface OutgoingAttachment {
  readonly filename: string
  readonly contentType: string
  readonly content: Buffer
}

const token = /^[A-Za-z0-9!#$%&'*+.^_`{|}~-]{1,127}$/
/** Text that may be in a quoted string. */
const quotable = /^[\x20-\x7e]{0,200}$/
const parametersMax = 20
const unknownType = 'application/octet-stream'

/**
 * Returns the media type of an attachment as it may be in its part (RFC 2045 §5.1), with its parameters: a calendar is no invitation
 * without `method` (RFC 6047 §2.4). `name` is left out, because the filename says it. What is no type, what would have to be parts of
 * our own (multipart), and a message that cannot travel unencoded as RFC 2046 §5.2.1 wants, is application/octet-stream.
 * A message with 8-bit data can, if the host offers 8BITMIME.
 */
export function attachmentType(contentType: string, content: Buffer): string {
  const { value: type, parameters } = readParameters(contentType.trim())
  if (!type.includes('/') || !type.split('/').every(part => token.test(part)) || type.split('/').length > 2)
    return unknownType
  if (type.startsWith('multipart/')) return unknownType
  if (type.startsWith('message/'))
    return type === 'message/rfc822' && isMailData(content) ? type : unknownType
  const written = Object.entries(parameters).flatMap(([name, value = '']) =>
    name === 'name' || name.includes('*') || !token.test(name) || !quotable.test(value)
      ? []
      : [`; ${name}=${token.test(value) ? value : `"${value.replace(/["\\]/g, '\\$&')}"`}`],
  )
  return type + written.slice(0, parametersMax).join('')
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
