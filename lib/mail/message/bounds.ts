import { limits } from '../../base/limits.ts'

/** As much of mailparser's MailParser as is changed here. */
export interface PartParser {
  readonly curnode: { readonly isAttachment?: boolean } | false
  /** Whether a text part that is no attachment was seen. */
  readonly hasText: boolean
  readonly hasHtml: boolean
  readonly splitter: { compareBoundary(line: Buffer, start: number, boundary: Buffer): 1 | 2 | false }
  processChunk(chunk: Chunk, done: (error?: Error) => void): void
}

interface Chunk {
  readonly type: 'node' | 'data' | 'body'
  readonly value?: Buffer
  /** Of a node: what its header says. */
  readonly contentType?: string | false
  disposition?: string | false
  readonly filename?: string | false
  readonly parentNode?: { readonly multipart: string | false } | false
}

const [tab, lf, cr, space] = [0x09, 0x0a, 0x0d, 0x20]

/**
 * No more parts are read than limits.mimeParts. Of a very long text part the rest is passed over: its bytes are decoded
 * at one go.
 */
export function boundParts(parser: PartParser, stop: (problem: string) => void): void {
  const process = parser.processChunk.bind(parser)
  const taken = new WeakMap<object, number>()
  let parts = 0
  parser.processChunk = (chunk, done) => {
    if (chunk.type === 'node' && ++parts > limits.mimeParts) {
      stop(`more than ${limits.mimeParts} parts`)
      return
    }
    if (chunk.type === 'node' && isTextFile(chunk, parser)) chunk.disposition = 'attachment'
    const part = parser.curnode
    if (chunk.type === 'body' && part && !part.isAttachment) {
      const bytes = (taken.get(part) ?? 0) + (chunk.value?.length ?? 0)
      taken.set(part, bytes)
      if (bytes > limits.textPartBytes) {
        setImmediate(done)
        return
      }
    }
    process(chunk, done)
  }
}

/** A text with a filename, after the text of the message, is a file, though some programs (Apple's) call it inline. */
function isTextFile({ contentType, filename, parentNode }: Chunk, parser: PartParser): boolean {
  const isAlternative = parentNode && parentNode.multipart === 'alternative'
  return (
    /^text\/(?:plain|html)$/.test(contentType || '') &&
    Boolean(filename && (parser.hasText || parser.hasHtml)) &&
    !isAlternative
  )
}

/** RFC 2046 §5.1.1: spaces may stand after a boundary, and readers have to put up with them. */
export function acceptPadding(parser: PartParser): void {
  const { splitter } = parser
  const compare = splitter.compareBoundary.bind(splitter)
  splitter.compareBoundary = (line, start, boundary) => compare(withoutPadding(line), start, boundary)
}

function withoutPadding(line: Buffer): Buffer {
  const lineEnd = line.at(-1) !== lf ? line.length : line.at(-2) === cr ? line.length - 2 : line.length - 1
  let end = lineEnd
  while (end > 0 && (line[end - 1] === space || line[end - 1] === tab)) end--
  return end === lineEnd ? line : Buffer.concat([line.subarray(0, end), line.subarray(lineEnd)])
}
