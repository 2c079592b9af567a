import type { OpenPart } from './part.ts'

/** MIME parts of one message that are read. */
export const mimeParts = 1000

const opening = /^begin [0-7]{3,4} (\S[^\r\n]{0,254})\r?\n/
const start = Buffer.from('begin ')
const [lf, cr, space] = [0x0a, 0x0d, 0x20]

/** A file that stands uuencoded (POSIX) in a text, as programs before MIME attached it. */
interface Found {
  readonly name: string
  readonly start: number
  /** Behind its last line. */
  readonly end: number
}

/**
 * Makes of each text with uuencoded files in it a multipart of its texts and the files. Each line is looked at once, and no
 * more than `mimeParts` parts are made.
 */
export function partUuencodedFiles(raw: Buffer, root: OpenPart): void {
  const room = { left: mimeParts as number }
  const visit = (part: OpenPart) => {
    if (part.children.length > 0) part.children.forEach(visit)
    else if (mayHold(part)) split(raw, part, room)
  }
  visit(root)
}

/** Plain text that is encoded in no other way, and is no file itself. */
function mayHold({ contentType, encoding, filename, disposition }: OpenPart): boolean {
  const isPlain = contentType === 'text/plain' && ['', '7bit', '8bit', 'binary'].includes(encoding)
  return isPlain && filename === undefined && disposition !== 'attachment'
}

function split(raw: Buffer, part: OpenPart, room: { left: number }): void {
  const pieces: OpenPart[] = []
  let from = part.start
  const text = (end: number) => {
    if (end > from) pieces.push({ ...part, parent: part, children: [], start: from, end })
  }
  for (let file = nextFile(raw, part.start, part.end); file; file = nextFile(raw, file.end, part.end)) {
    room.left -= 2
    if (room.left < 0) break
    text(file.start)
    pieces.push({
      ...part,
      contentType: 'application/octet-stream',
      disposition: 'attachment',
      filename: file.name,
      encoding: 'x-uuencode',
      contentId: '',
      parent: part,
      children: [],
      start: file.start,
      end: file.end,
    })
    from = file.end
  }
  if (pieces.length === 0) return
  text(part.end)
  part.contentType = 'multipart/mixed'
  part.children.push(...pieces)
}

function nextFile(whole: Buffer, from: number, end: number): Found | undefined {
  // So that nothing behind the part is looked at.
  const raw = whole.subarray(0, end)
  for (let at = raw.indexOf(start, from); at >= 0 && at < end; ) {
    const isLine = at === from || raw[at - 1] === lf
    const [line = '', name = ''] =
      (isLine && opening.exec(raw.toString('latin1', at, Math.min(end, at + 300)))) || []
    const behind = line === '' ? at + start.length : endOfFile(raw, at + line.length, end)
    // What is read in vain is not read again.
    if (behind < 0) return { name, start: at, end: -behind }
    at = raw.indexOf(start, behind)
  }
  return undefined
}

/** Where the file ends, as a negative number; where it turns out to be none, as a positive one. */
function endOfFile(raw: Buffer, from: number, end: number): number {
  let lines = 0
  for (let at = from; at < end; ) {
    const newline = raw.indexOf(lf, at)
    const next = newline < 0 || newline >= end ? end : newline + 1
    const last = newline > at && raw[newline - 1] === cr ? newline - 1 : newline < 0 ? end : newline
    const length = last - at
    if (length === 3 && raw.toString('latin1', at, last) === 'end') return lines > 0 ? -next : next
    if (!isEncodedLine(raw, at, length)) return at
    lines++
    at = next
  }
  return end
}

/** The first character says how many bytes the line holds; spaces at its end get lost, and a checksum may stand there. */
function isEncodedLine(raw: Buffer, at: number, length: number): boolean {
  if (length === 0) return false
  const bytes = (raw[at]! - space) & 63
  const wanted = 4 * Math.ceil(bytes / 3)
  if (raw[at]! < space || raw[at]! > 0x60 || length - 1 > wanted + 2) return false
  for (let character = at + 1; character < at + length; character++) {
    if (raw[character]! < space || raw[character]! > 0x60) return false
  }
  // No word of a text says so exactly how long its line is.
  return length - 1 >= wanted - 3
}
