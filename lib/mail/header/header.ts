import { isAscii, isUtf8 } from 'node:buffer'
import { limits } from '../../base/limits.ts'
import { type HeaderLine, lineAt } from './line.ts'

/** The header section of a message or of a part (RFC 5322 §2.2), its fields in the order in which they stand. */
export interface Header {
  readonly fields: readonly HeaderField[]
  /** Where the body begins; the length of the message when it has none. */
  readonly bodyOffset: number
  /** Why there are more fields than these, in words for the log. */
  readonly fault?: string
  /** Where the first line stands that is no field and belongs to none as the standard has it, though fields follow it. */
  readonly strayAt?: number
}

export interface HeaderField {
  readonly name: string
  readonly lowerName: string
  /** Unfolded and trimmed, as UTF-8 where it is that (RFC 6532) and else as Latin-1; encoded words stay as they are. */
  readonly value: string
  readonly isUtf8: boolean
  /** Where the field stands in the bytes that were read, its value from behind the colon, all lines and the last line's end. */
  readonly start: number
  readonly valueStart: number
  readonly end: number
}

/** How much of a header is read. */
export interface HeaderBounds {
  readonly bytes: number
  readonly lines: number
}

const messageBounds: HeaderBounds = { bytes: limits.headerBytes, lines: limits.headerLines }

/**
 * Reads the header section, and leaves the body alone. All that real mail does to it is put up with here, so that
 * everybody who asks for a field is told the same:
 * - LF alone ends a line too, as in data that was stored;
 * - a line `From …` or `>From …` before the first field is the envelope of an mbox;
 * - a line that is no field, behind one that ends in a semicolon, continues it: its white space is missing;
 * - any other line that is no field, amidst fields, is passed over with what continues it: some program broke a line too early;
 * - such a line elsewhere, and a line of white space before one, is where the body begins: the empty line is missing.
 */
export function readHeader(raw: Uint8Array, bounds: HeaderBounds = messageBounds): Header {
  const bytes = asBuffer(raw)
  const fields: HeaderField[] = []
  /** The field whose lines are being read; undefined while a line that is none is continued. */
  let open: HeaderLine | undefined
  let end = 0
  let lines = 0
  let stray: { strayAt?: number } = {}
  const close = () => {
    if (open) fields.push(fieldOf(bytes, open, end))
    open = undefined
  }
  let line = lineAt(bytes, 0)
  while (line && line.kind !== 'empty') {
    const fault = faultOf(line.next, ++lines, bounds)
    if (fault !== undefined) {
      // A field that is not whole says something else.
      if (line.kind === 'field') close()
      return { fields, bodyOffset: afterEmptyLine(bytes, line.start), fault, ...stray }
    }
    const following = line.kind === 'blank' || line.kind === 'other' ? lineAt(bytes, line.next) : undefined
    if (line.kind === 'other' && !isEnvelope(bytes, line)) stray = { strayAt: line.start, ...stray }
    const isUnfolded = line.kind === 'other' && open !== undefined && endsInSemicolon(bytes, end)
    if (isUnfolded) {
      end = line.next
      line = following
      continue
    }
    if (endsHeader(bytes, line, following, fields.length > 0 || open !== undefined)) {
      close()
      return { fields, bodyOffset: line.kind === 'blank' ? line.next : line.start, ...stray }
    }
    if (line.kind === 'field' || line.kind === 'other') close()
    if (line.kind === 'field') open = line
    end = line.next
    line = following ?? lineAt(bytes, line.next)
  }
  close()
  return { fields, bodyOffset: line ? line.next : bytes.length, ...stray }
}

/** The values of all fields of that name (in lower case), in order. */
export function fieldValues(header: Header, lowerName: string): string[] {
  return header.fields.filter(field => field.lowerName === lowerName).map(field => field.value)
}

/**
 * The value of the last field of that name (in lower case): where it stands there twice, that is the one that signatures are of
 * (RFC 6376 §5.4.2), and another above it may have been added by anybody.
 */
export function lastField(header: Header, lowerName: string): string | undefined {
  return header.fields.findLast(field => field.lowerName === lowerName)?.value
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
  const bytes = asBuffer(raw).subarray(0, limits.headerBytes + 2)
  let lines = 0
  let end = 0
  for (let line = lineAt(bytes, 0); line && line.kind !== 'empty'; line = lineAt(bytes, line.next)) {
    end = line.next
    lines++
  }
  return faultOf(end, lines, messageBounds)
}

/** What both readers of a large header say of it. */
function faultOf(bytes: number, lines: number, bounds: HeaderBounds): string | undefined {
  if (bytes > bounds.bytes) return `more than ${bounds.bytes} bytes`
  return lines > bounds.lines ? `more than ${bounds.lines} lines` : undefined
}

/** Whether the body begins at this line, or behind it when it is white space, though no empty line says so. */
function endsHeader(
  bytes: Buffer,
  line: HeaderLine,
  following: HeaderLine | undefined,
  hasFields: boolean,
): boolean {
  if (line.kind === 'blank') return following === undefined || following.kind === 'other'
  if (line.kind !== 'other') return false
  if (line.start === 0 && (isEnvelope(bytes, line) || bytes.toString('latin1', 0, 6) === '>From '))
    return false
  if (following === undefined || following.kind === 'other') return true
  return following.kind === 'empty' && !hasFields
}

/** A line of an mbox, which every reader passes over. */
function isEnvelope(bytes: Buffer, { start }: HeaderLine): boolean {
  return start === 0 && bytes.toString('latin1', 0, 5) === 'From '
}

function endsInSemicolon(bytes: Buffer, end: number): boolean {
  let at = end - 1
  while (at >= 0 && (isWhite(bytes[at]!) || bytes[at] === 0x0d || bytes[at] === 0x0a)) at--
  return bytes[at] === 0x3b
}

function afterEmptyLine(bytes: Buffer, start: number): number {
  let line = lineAt(bytes, start)
  while (line && line.kind !== 'empty') line = lineAt(bytes, line.next)
  return line ? line.next : bytes.length
}

function fieldOf(bytes: Buffer, { start, colon }: HeaderLine, end: number): HeaderField {
  const name = trimmed(bytes.toString('latin1', start, colon))
  const valueBytes = bytes.subarray(colon + 1, end)
  const isText = isAscii(valueBytes)
  const isValid = isText || isUtf8(valueBytes)
  const value = isText || !isValid ? valueBytes.toString('latin1') : valueBytes.toString('utf8')
  return {
    name,
    lowerName: name.toLowerCase(),
    value: trimmed(unfolded(value)),
    isUtf8: isValid,
    start,
    valueStart: colon + 1,
    end,
  }
}

/** RFC 5322 §2.2.3: a line's end before white space is nothing. */
function unfolded(value: string): string {
  const end = value.length - (value.endsWith('\r\n') ? 2 : value.endsWith('\n') ? 1 : 0)
  const lines = value.slice(0, end)
  return lines.includes('\n') ? lines.replace(/\r?\n/g, '') : lines
}

/** Without the white space of ASCII at both ends; other white space is part of a word. */
function trimmed(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && isWhite(text.charCodeAt(start))) start++
  while (end > start && isWhite(text.charCodeAt(end - 1))) end--
  return text.slice(start, end)
}

function isWhite(code: number): boolean {
  return code === 0x20 || code === 0x09
}

function asBuffer(raw: Uint8Array): Buffer {
  return Buffer.isBuffer(raw) ? raw : Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength)
}
