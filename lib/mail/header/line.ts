/** A line of a header section, as offsets into the bytes that it stands in. */
export interface HeaderLine {
  readonly start: number
  /** Without the line's end. */
  readonly end: number
  /** Where the next line begins. */
  readonly next: number
  readonly kind: 'empty' | 'blank' | 'folded' | 'field' | 'other'
  /** Of a field, where its colon stands. */
  readonly colon: number
}

const [tab, lf, cr, space, colonByte] = [0x09, 0x0a, 0x0d, 0x20, 0x3a]

/** The line that begins at `start`, with what it can be in a header; undefined where nothing is left. */
export function lineAt(bytes: Buffer, start: number): HeaderLine | undefined {
  if (start >= bytes.length) return undefined
  const at = bytes.indexOf(lf, start)
  const next = at < 0 ? bytes.length : at + 1
  let end = at < 0 ? bytes.length : at
  if (end > start && bytes[end - 1] === cr) end--
  if (end === start) return { start, end, next, kind: 'empty', colon: -1 }
  if (isWhite(bytes[start])) {
    const kind = afterWhite(bytes, start, end) === end ? 'blank' : 'folded'
    return { start, end, next, kind, colon: -1 }
  }
  const colon = colonOf(bytes, start, end)
  return { start, end, next, kind: colon < 0 ? 'other' : 'field', colon }
}

/** RFC 5322 §2.2: printable ASCII before the colon; white space between them is §4.5.3. */
function colonOf(bytes: Buffer, start: number, end: number): number {
  let at = start
  while (at < end && bytes[at]! > space && bytes[at]! < 0x7f && bytes[at] !== colonByte) at++
  if (at === start) return -1
  const colon = afterWhite(bytes, at, end)
  return colon < end && bytes[colon] === colonByte ? colon : -1
}

function afterWhite(bytes: Buffer, start: number, end: number): number {
  let at = start
  while (at < end && isWhite(bytes[at])) at++
  return at
}

function isWhite(byte: number | undefined): boolean {
  return byte === space || byte === tab
}
