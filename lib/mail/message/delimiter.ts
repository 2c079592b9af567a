import type { OpenPart } from './part.ts'

/** A line between parts (RFC 2046 §5.1.1). */
export interface Delimiter {
  /** Of which of the open multiparts. */
  readonly index: number
  /** Whether it is the last of that multipart. */
  readonly isClosing: boolean
  /** Where what stands before it ends: the line's end before it is its own. */
  readonly end: number
  readonly next: number
}

const [tab, lf, cr, space, dash] = [0x09, 0x0a, 0x0d, 0x20, 0x2d]
const newline = Buffer.from('\n--')

/**
 * The first line at or behind `from`, where a line begins, that is a delimiter of one of the open multiparts, looked for from the innermost to
 * the outermost: who does not close a multipart has ended it with what stands around it.
 */
export function findDelimiter(
  raw: Buffer,
  from: number,
  open: readonly OpenPart[],
  limit = raw.length,
): Delimiter | undefined {
  const lines = delimitersOf(open)
  const lengths = new Set([...lines.keys()].map(line => line.length))
  let start = isDashed(raw, from) ? from : lineBehind(raw, from)
  while (start >= 0 && start < limit) {
    const lineEnd = raw.indexOf(lf, start)
    const next = lineEnd < 0 ? raw.length : lineEnd + 1
    const end = withoutPadding(raw, start, lineEnd < 0 ? raw.length : lineEnd)
    const found = lengths.has(end - start) && lines.get(raw.toString('latin1', start, end))
    if (found) return { ...found, end: before(raw, start), next }
    start = isDashed(raw, next) ? next : lineBehind(raw, next)
  }
  return undefined
}

/** Where the first line behind the one at `from` begins with two dashes; -1 for none. */
function lineBehind(raw: Buffer, from: number): number {
  const at = raw.indexOf(newline, from)
  return at < 0 ? -1 : at + 1
}

function isDashed(raw: Buffer, at: number): boolean {
  return raw[at] === dash && raw[at + 1] === dash
}

/** RFC 2046 §5.1.1: white space may stand behind a boundary. */
function withoutPadding(raw: Buffer, start: number, lineEnd: number): number {
  let end = lineEnd
  while (end > start && (raw[end - 1] === space || raw[end - 1] === tab || raw[end - 1] === cr)) end--
  return end
}

/** Each line that is one, by its text; that of an inner multipart before the same of an outer one. */
function delimitersOf(open: readonly OpenPart[]): Map<string, { index: number; isClosing: boolean }> {
  const lines = new Map<string, { index: number; isClosing: boolean }>()
  for (const [index, { boundary }] of open.entries()) {
    lines.set(`--${boundary}`, { index, isClosing: false })
    lines.set(`--${boundary}--`, { index, isClosing: true })
  }
  return lines
}

/** Where the line before ends, without its end. */
function before(raw: Buffer, start: number): number {
  if (start === 0 || raw[start - 1] !== lf) return start
  return start > 1 && raw[start - 2] === cr ? start - 2 : start - 1
}
