import { isAscii, isUtf8 } from 'node:buffer'
import { type HeaderLine, lineAt } from './line.ts'
import { readParameters } from './parameters.ts'

/** An inbound header section. Microsoft 365 and lists of recipients fill more than 64 KiB; a larger one is refused early. */
export const headerBytes = 256 * 1024
export const headerLines = 5000

/** The header section of a message or of a part (RFC 5322 §2.2), its fields in the order in which they stand. */
export interface Header {
  readonly fields: readonly HeaderField[]
  /** Where the body begins; the length of the message when it has none. */
  readonly bodyOffset: number
  /** Why there are more fields than these, in words for the log. */
  readonly fault?: string
  /** Where the first line stands that is no field and belongs to none as the standard has it, though fields follow it. */
  readonly strayAt?: number
  /** Where the first such line stands that may be a From field to another reader. */
  readonly strayFromAt?: number
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

const messageBounds: HeaderBounds = { bytes: headerBytes, lines: headerLines }

/**
 * Reads the header section, and leaves the body alone. It tolerates the damage that real mail has, so that every caller sees
 * the same fields:
 * - LF alone ends a line too, as in data that was stored;
 * - a line `From …` or `>From …` before the first field is the envelope of an mbox;
 * - a line with the boundary that Content-Type has just declared begins the body: the empty line is missing;
 * - a line with a parameter, after one that ends in a semicolon, continues it: its white space is missing;
 * - any other line that is no field is passed over if a field that belongs into a header, and is not there yet, follows before
 *   the empty line: some program broke a line too early. Otherwise the body begins there, because no text may be lost;
 * - a line of white space is the empty line unless such a field, or a continuation, follows.
 */
export function readHeader(raw: Uint8Array, bounds: HeaderBounds = messageBounds): Header {
  const bytes = asBuffer(raw)
  const fields: HeaderField[] = []
  /** The names of all fields until here, in lower case. Each stray line asks for them. */
  const names = new Set<string>()
  let delimiter: Delimiter | undefined
  /** The field whose lines are being read; undefined while a line that is none is continued. */
  let open: HeaderLine | undefined
  let end = 0
  let lines = 0
  let stray: Pick<Header, 'strayAt' | 'strayFromAt'> = {}
  /** Where the field stands that was last found ahead: what is before it is within the header. */
  let fieldAhead = -1
  const close = () => {
    if (open === undefined) return
    const field = fieldOf(bytes, open, end)
    open = undefined
    fields.push(field)
    if (field.lowerName === 'content-type') delimiter = delimiterOf(field)
  }
  let line = lineAt(bytes, 0)
  while (line && line.kind !== 'empty') {
    const fault = faultOf(line.next, ++lines, bounds)
    if (fault !== undefined) {
      // A field that is not whole says something else.
      if (line.kind === 'field') close()
      return { fields, bodyOffset: afterEmptyLine(bytes, line.start), fault, ...stray }
    }
    if (bytes[line.start] === dash && bytes[line.start + 1] === dash) {
      // No such line continues a field.
      close()
      if (isDelimiter(bytes, line, delimiter)) return { fields, bodyOffset: line.start, ...stray }
    }
    const following = line.kind === 'blank' || line.kind === 'other' ? lineAt(bytes, line.next) : undefined
    if (line.kind === 'other' && !isEnvelope(bytes, line)) {
      stray = {
        strayAt: line.start,
        ...(isLikeFrom(bytes, line) ? { strayFromAt: line.start } : {}),
        ...stray,
      }
    }
    const isUnfolded =
      line.kind === 'other' && open !== undefined && endsInSemicolon(bytes, end) && isParameter(bytes, line)
    if (isUnfolded) {
      end = line.next
      line = following
      continue
    }
    const hasFields = fields.length > 0 || open !== undefined
    if (hasFields && mayEndHeader(line, following) && fieldAhead < line.start) {
      if (line.kind === 'other') close()
      fieldAhead = findFieldAhead(bytes, line.next, names, bounds)
    }
    const ends = hasFields
      ? mayEndHeader(line, following) && fieldAhead < line.start
      : endsUnbegun(bytes, line, following)
    if (ends) {
      close()
      return { fields, bodyOffset: line.kind === 'blank' ? line.next : line.start, ...stray }
    }
    if (line.kind === 'field' || line.kind === 'other') close()
    if (line.kind === 'field') {
      open = line
      names.add(nameOf(bytes, line).toLowerCase())
    }
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
  const bytes = asBuffer(raw).subarray(0, headerBytes + 2)
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

const dash = 0x2d

/** Fields that mail has, of which each may be there once, and of which many may be. */
const singleFields = new Set(
  'from sender reply-to to cc bcc date subject message-id in-reply-to references mime-version content-type content-transfer-encoding content-disposition content-id content-description content-language'.split(
    ' ',
  ),
)
const repeatedFields =
  /^(?:received|return-path|delivered-to|dkim-signature|domainkey-signature|authentication-results|(?:received-spf|auto-submitted|precedence|feedback-id|user-agent|importance|priority)|(?:x|arc|list|resent|thread|disposition)-[!-9;-~]{1,80})$/

/** Where a field of mail begins, other than those that the header has once already, before the next empty line; -1 without one. */
function findFieldAhead(
  bytes: Buffer,
  from: number,
  names: ReadonlySet<string>,
  bounds: HeaderBounds,
): number {
  let lines = 0
  for (let line = lineAt(bytes, from); line && line.kind !== 'empty'; line = lineAt(bytes, line.next)) {
    if (line.next > bounds.bytes || ++lines > bounds.lines) return -1
    if (line.kind !== 'field' || line.colon - line.start > 100) continue
    const name = nameOf(bytes, line).toLowerCase()
    if (repeatedFields.test(name) || (singleFields.has(name) && !names.has(name))) return line.start
  }
  return -1
}

/** What the lines between the parts of a multipart begin with, as its Content-Type says. */
interface Delimiter {
  readonly text: string
  readonly encoding: 'utf8' | 'latin1'
}

function delimiterOf({ value, isUtf8 }: HeaderField): Delimiter | undefined {
  const boundary = readParameters(value).parameters.boundary?.trimEnd() ?? ''
  return boundary === '' ? undefined : { text: `--${boundary}`, encoding: isUtf8 ? 'utf8' : 'latin1' }
}

/** Whether a line is a delimiter of the multipart that the header has declared until there. */
function isDelimiter(bytes: Buffer, { start, end }: HeaderLine, delimiter: Delimiter | undefined): boolean {
  if (delimiter === undefined) return false
  const text = bytes.toString(delimiter.encoding, start, end).trimEnd()
  return text === delimiter.text || text === `${delimiter.text}--`
}

/** Whether the body may begin at this line that is no field, or after it if it is white space, though no empty line says so. */
function mayEndHeader(line: HeaderLine, following: HeaderLine | undefined): boolean {
  if (line.kind === 'blank') return following === undefined || ['other', 'field'].includes(following.kind)
  return line.kind === 'other'
}

/** The same before the first field. */
function endsUnbegun(bytes: Buffer, line: HeaderLine, following: HeaderLine | undefined): boolean {
  if (line.kind === 'blank') return following === undefined || following.kind === 'other'
  if (line.kind !== 'other') return false
  if (line.start === 0 && (isEnvelope(bytes, line) || bytes.toString('latin1', 0, 6) === '>From '))
    return false
  return following === undefined || following.kind === 'other' || following.kind === 'empty'
}

/** A line of an mbox, which every reader passes over. */
function isEnvelope(bytes: Buffer, { start }: HeaderLine): boolean {
  return start === 0 && bytes.toString('latin1', 0, 5) === 'From '
}

/** `>From boss@example.com`, `From;` or one with bytes before it; `from relay.example by …` is the second line of a Received. */
function isLikeFrom(bytes: Buffer, { start, end }: HeaderLine): boolean {
  const text = bytes.toString('latin1', start, Math.min(end, start + 200))
  return /^[^a-z0-9]{0,10}from[ \t]*(?:[^a-z0-9 \t]|[^ \t@]{1,150}@)|from[ \t]*:/i.test(text)
}

/** A name that begins with two hyphens is that of no parameter: the line may be a delimiter. */
function isParameter(bytes: Buffer, { start, end }: HeaderLine): boolean {
  return /^(?!--)[\w*.-]{1,80}[ \t]?=/.test(bytes.toString('latin1', start, Math.min(end, start + 100)))
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

function nameOf(bytes: Buffer, { start, colon }: HeaderLine): string {
  return trimmed(bytes.toString('latin1', start, colon))
}

function fieldOf(bytes: Buffer, line: HeaderLine, end: number): HeaderField {
  const { start, colon } = line
  const name = nameOf(bytes, line)
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
