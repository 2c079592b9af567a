import { isUtf8 } from 'node:buffer'
import { limits } from '../../base/limits.ts'

/** The header section of a message (RFC 5322 §2.2), its fields in the order in which they stand. */
export interface Header {
  readonly fields: readonly HeaderField[]
  /** Where the body begins; the length of the message when it has none. */
  readonly bodyOffset: number
}

export interface HeaderField {
  readonly name: string
  readonly lowerName: string
  /** Unfolded and trimmed, as UTF-8 where it is that (RFC 6532) and else as Latin-1; encoded words stay as they are. */
  readonly value: string
}

const lf = 0x0a
const cr = 0x0d

/** Reads the header section and leaves the body alone. Lines that are no field are passed over. */
export function readHeader(raw: Uint8Array): Header {
  const bytes = asBuffer(raw)
  const { length, bodyOffset } = sectionOf(bytes, bytes.length)
  const fields: HeaderField[] = []
  for (const lines of unfold(bytes.toString('latin1', 0, length))) {
    const colon = lines.indexOf(':')
    // RFC 5322 §2.2; white space before the colon is §4.5.3.
    const name = lines.slice(0, Math.max(colon, 0)).trimEnd()
    if (!/^[!-9;-~]+$/.test(name)) continue
    fields.push({ name, lowerName: name.toLowerCase(), value: decode(lines.slice(colon + 1)).trim() })
  }
  return { fields, bodyOffset }
}

/** The values of all fields of that name (in lower case), in order. */
export function fieldValues(header: Header, lowerName: string): string[] {
  return header.fields.filter(field => field.lowerName === lowerName).map(field => field.value)
}

/** The value of the topmost field of that name (in lower case). */
export function firstField(header: Header, lowerName: string): string | undefined {
  return header.fields.find(field => field.lowerName === lowerName)?.value
}

/** How many hosts say that they have passed the message on (RFC 5321 §6.3). */
export function countReceived(header: Header): number {
  return header.fields.filter(field => field.lowerName === 'received').length
}

/**
 * Why the header section at the start of `raw` is larger than we read, or undefined. Asked before anything else
 * touches it: mailauth takes time with the square of the lines of one field.
 */
export function findHeaderFault(raw: Uint8Array): string | undefined {
  const bytes = asBuffer(raw)
  const { length, lines } = sectionOf(bytes, limits.headerBytes + 2)
  if (length > limits.headerBytes) return `more than ${limits.headerBytes} bytes`
  if (lines > limits.headerLines) return `more than ${limits.headerLines} lines`
  return undefined
}

/** The bytes before the empty line, and what follows it; looks no further than `end`. */
function sectionOf(bytes: Buffer, end: number): { length: number; bodyOffset: number; lines: number } {
  let start = 0
  let lines = 0
  while (start < end) {
    const at = bytes.indexOf(lf, start)
    if (at < 0 || at >= end) break
    if (at === start || (at === start + 1 && bytes[start] === cr)) {
      return { length: start, bodyOffset: at + 1, lines }
    }
    lines++
    start = at + 1
  }
  const length = Math.min(bytes.length, end)
  return { length, bodyOffset: length, lines: start < length ? lines + 1 : lines }
}

/** The fields, each with its continuation lines on one line (RFC 5322 §2.2.3). */
function unfold(section: string): string[] {
  return section.replace(/\r?\n(?=[ \t])/g, '').split(/\r?\n/)
}

function decode(latin1: string): string {
  if (/^[\x00-\x7f]*$/.test(latin1)) return latin1
  const bytes = Buffer.from(latin1, 'latin1')
  return isUtf8(bytes) ? bytes.toString('utf8') : latin1
}

function asBuffer(raw: Uint8Array): Buffer {
  return Buffer.isBuffer(raw) ? raw : Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength)
}
