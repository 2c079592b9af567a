import { isUtf8 } from 'node:buffer'
import { readHeader } from './header.ts'

/**
 * The start of a message, with the fields of its header as UTF-8 (RFC 6532) that came as raw bytes of another charset:
 * of that which its Content-Type names, or else windows-1252. Mail that never saw a standard looks like this.
 */
export function repairHeader(start: Buffer): Buffer {
  if (isUtf8(start)) return start
  const { bodyOffset } = readHeader(start)
  if (isUtf8(start.subarray(0, bodyOffset))) return start
  const section = start.toString('latin1', 0, bodyOffset)
  const decoder = decoderOf(/charset\s*=\s*"?([\w-]{1,40})/i.exec(section)?.[1] ?? '')
  const fields = section.split(/(?<=\n)(?![ \t])/).map(field => {
    const bytes = Buffer.from(field, 'latin1')
    return isUtf8(bytes) ? bytes : Buffer.from(decoder.decode(Buffer.from(quoted(field), 'latin1')))
  })
  return Buffer.concat([...fields, start.subarray(bodyOffset)])
}

function decoderOf(charset: string): TextDecoder {
  try {
    const decoder = new TextDecoder(charset)
    if (decoder.encoding !== 'utf-8') return decoder
  } catch {
    // A charset that nobody knows.
  }
  return new TextDecoder('windows-1252')
}

/** Bytes inside an encoded word belong to its charset (RFC 2047 §4.2). */
function quoted(field: string): string {
  return field.replace(/=\?[^?\s]{1,40}\?q\?[^?]*\?=/gi, word =>
    word.replace(/[\x80-\xff]/g, byte => `=${byte.charCodeAt(0).toString(16).toUpperCase()}`),
  )
}
