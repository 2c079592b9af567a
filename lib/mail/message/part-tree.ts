import { type Header, headerBytes, headerLines, lastField, readHeader } from '../header/header.ts'
import { lineAt } from '../header/line.ts'
import { type OpenPart, type Part, partHeaderBytes, partOf } from './part.ts'
import { mayBeSigned, signedContent } from './signed.ts'
import { decodeTransfer } from './transfer-encoding.ts'
import { mimeParts, partUuencodedFiles } from './uuencoded-files.ts'

/** How deep MIME parts may be inside one another. */
const mimeDepth = 30

/** The parts of a message, and what of it was not read, in words for the log. */
interface PartTree {
  readonly root: Part
  readonly problems: readonly string[]
}

interface Tree extends PartTree {
  readonly root: OpenPart
}

/**
 * Finds the parts of a message in one pass over its lines. What is broken is put up with: a multipart that is not closed
 * ends with what stands around it, one whose boundary never comes is read by the one that does, or else is text.
 */
export function readPartTree(raw: Buffer, header: Header): PartTree {
  return readTreeOf(raw, header)
}

function readTreeOf(raw: Buffer, header: Header, parent?: Part): Tree {
  const root = partOf(header, parent, raw, header.bodyOffset, raw.length)
  const tree = readAsSaid(raw, root)
  partUuencodedFiles(raw, tree.root)
  return tree
}

/** How many signatures may be around one another: RFC 8551 §3.7 has two. Each layer takes as much memory as its content. */
const signedDepth = 3

/**
 * Finds the parts of a message as `readPartTree`, and those inside opaque S/MIME (RFC 8551 §3.5.2). A part of that kind becomes a
 * multipart of itself and the entity that was signed.
 */
export function readWholeTree(raw: Buffer, header: Header): PartTree {
  const { root, problems: own } = readTreeOf(raw, header)
  const problems = new Set(own)
  let room: number = mimeParts
  const visit = (part: OpenPart, depth: number) => {
    if (part.children.length > 0) for (const child of part.children) visit(child, depth)
    else if (mayBeSigned(part) && depth < signedDepth && --room >= 0) {
      const signed = openSigned(part)
      if (!signed) return
      for (const problem of signed.problems) problems.add(problem)
      room -= countParts(signed.root)
      visit(signed.root, depth + 1)
    }
  }
  visit(root, 0)
  return { root, problems: [...problems] }
}

/** Only content with a Content-Type is a MIME entity; signed files, such as invoices in XML, are called .p7m as well. */
function openSigned(part: OpenPart): Tree | undefined {
  const content = signedContent(decodeTransfer(part.raw.subarray(part.start, part.end), part.encoding))
  if (!content) return undefined
  const header = readHeader(content, { bytes: partHeaderBytes, lines: headerLines })
  if (lastField(header, 'content-type') === undefined) return undefined
  const itself = { ...part, parent: part, children: [] }
  part.contentType = 'multipart/mixed'
  const tree = readTreeOf(content, header, part)
  part.children.push(itself, tree.root)
  return { root: tree.root, problems: [...headerProblems(header), ...tree.problems] }
}

function countParts({ children }: Part): number {
  return children.reduce((count, child) => count + countParts(child), 1)
}

function readAsSaid(raw: Buffer, root: OpenPart): Tree {
  const tree = readTree(raw, root)
  if (!isMultipart(root) || root.children.length > 0) return tree
  const boundary = guessBoundary(raw, root)
  return boundary === undefined ? tree : readTree(raw, { ...root, contentType: 'multipart/mixed', boundary })
}

export function isMultipart(part: Part): boolean {
  return part.contentType.startsWith('multipart/')
}

function readTree(raw: Buffer, root: OpenPart): Tree {
  const problems = new Set<string>()
  /** The multiparts that the place is in, from the outermost to the innermost. */
  const open: OpenPart[] = []
  let parts = 1
  let current: OpenPart | undefined = root
  const enter = (part: OpenPart) => {
    if (!isMultipart(part) || part.boundary === '') return
    if (open.length < mimeDepth) {
      open.push(part)
    } else {
      problems.add(`parts more than ${mimeDepth} deep in one another`)
      part.contentType = 'application/octet-stream'
    }
  }
  enter(root)
  let at = root.start
  while (open.length > 0) {
    const delimiter = findDelimiter(raw, at, open)
    if (!delimiter) break
    const end = (part: OpenPart) => {
      part.end = Math.max(part.start, delimiter.end)
    }
    if (current && current !== open.at(-1)) end(current)
    open.splice(delimiter.index + 1).forEach(end)
    current = undefined
    at = delimiter.next
    if (delimiter.isClosing) {
      end(open.pop()!)
      continue
    }
    if (++parts > mimeParts) {
      problems.add(`more than ${mimeParts} parts`)
      break
    }
    current = readPart(raw, at, open, problems)
    at = current.start
    enter(current)
  }
  return { root, problems: [...problems] }
}

/** Reads the header of the part that begins at `start`; the first delimiter ends it, whatever it lacks. */
function readPart(raw: Buffer, start: number, open: readonly OpenPart[], problems: Set<string>): OpenPart {
  const windowEnd = Math.min(raw.length, start + partHeaderBytes + 2)
  const limit = findDelimiter(raw, start, open, windowEnd)?.end ?? windowEnd
  const header = readHeader(raw.subarray(start, Math.max(start, limit)), {
    bytes: partHeaderBytes,
    lines: headerLines,
  })
  const parent = open.at(-1)!
  let bodyStart = start + header.bodyOffset
  for (const problem of headerProblems(header)) problems.add(problem)
  if (header.fault !== undefined && bodyStart === windowEnd) bodyStart = afterEmptyLine(raw, windowEnd, open)
  const part = partOf(header, parent, raw, bodyStart, raw.length)
  parent.children.push(part)
  return part
}

function headerProblems(header: Header): string[] {
  if (header.fault !== undefined) return [`the header of a part has ${header.fault}`]
  return hasSkippedLine(header) ? ['a line in the header of a part is no field'] : []
}

/** Whether a line within a header is no field of it. */
export function hasSkippedLine({ strayAt, bodyOffset }: Header): boolean {
  return strayAt !== undefined && strayAt < bodyOffset
}

/** Where the body begins behind a header of which not all is read. */
function afterEmptyLine(raw: Buffer, from: number, open: readonly OpenPart[]): number {
  const end = findDelimiter(raw, from, open)?.end ?? raw.length
  const section = raw.subarray(0, end)
  let line = lineAt(section, from)
  while (line && line.kind !== 'empty') line = lineAt(section, line.next)
  return line ? line.next : end
}

/** The first line near the beginning that looks like a delimiter: two dashes, and a header behind it. */
function guessBoundary(raw: Buffer, { start, end }: Part): string | undefined {
  const head = raw.toString('latin1', start, Math.min(end, start + headerBytes))
  return /(?:^|\n)--([^\s-][^\r\n]{0,198})\r?\n(?=[!-9;-~]{1,80}:|\r?\n)/.exec(head)?.[1]?.trimEnd()
}

/** A line between parts (RFC 2046 §5.1.1). */
interface Delimiter {
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
function findDelimiter(
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
