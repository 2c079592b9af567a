import type { Part } from './part.ts'

/** X.690 §8.1: bounds of what one CMS structure may make us walk. Outlook writes pieces of 1,000 bytes. */
const elementsMost = 100_000
const depthMost = 16

/** The universal tags of X.690 §8.14 and the context tag [0], as CMS writes them. */
const [endOfContents, integer, octets, identifier, sequence, set] = [0x00, 0x02, 0x04, 0x06, 0x30, 0x31]
const [constructed, context0] = [0x20, 0xa0]

/** RFC 5652 §4, §5.1: id-data (1.2.840.113549.1.7.1) and id-signedData (1.2.840.113549.1.7.2). */
const idData = Buffer.from('2a864886f70d010701', 'hex')
const idSignedData = Buffer.from('2a864886f70d010702', 'hex')

/** One element of BER: where its contents begin and end. The end of an indefinite length is only known by walking. */
interface Element {
  readonly tag: number
  readonly start: number
  readonly end: number | undefined
}

/** Returns whether a part may be CMS by its type (RFC 8551 §3.2), or by the end of its name. */
export function mayBeSigned({ contentType, filename }: Part): boolean {
  if (/^application\/(?:x-)?pkcs7-mime$/.test(contentType)) return true
  return contentType === 'application/octet-stream' && /\.p7m$/i.test(filename ?? '')
}

/**
 * Returns the content inside CMS signed-data (RFC 5652 §5) in linear time. Says nothing about the signature. Returns
 * undefined for everything else: encrypted or detached content, content that is cut off, no BER.
 */
export function signedContent(bytes: Buffer): Buffer | undefined {
  const walk = createWalk(bytes)
  const isData =
    walk.enter(sequence) &&
    walk.passes(identifier, idSignedData) &&
    walk.enter(context0) &&
    walk.enter(sequence) &&
    walk.passes(integer) &&
    walk.passes(set) &&
    walk.enter(sequence) &&
    walk.passes(identifier, idData) &&
    walk.enter(context0)
  return isData ? walk.readOctets() : undefined
}

function createWalk(bytes: Buffer) {
  let at = 0
  let elements = 0

  /** Goes to the contents of the next element. */
  const next = (): Element | undefined => {
    const element = ++elements > elementsMost ? undefined : elementAt(bytes, at)
    if (element) at = element.start
    return element
  }
  return {
    enter: (tag: number): boolean => next()?.tag === tag,
    /** Goes past an element with this tag, and with these contents if any are given. */
    passes(tag: number, contents?: Buffer): boolean {
      let element = next()
      if (element?.tag !== tag) return false
      if (contents && !bytes.subarray(element.start, element.end ?? element.start).equals(contents))
        return false
      for (let depth = 0; element; element = next()) {
        if (element.end === undefined) depth++
        else if (element.tag === endOfContents) depth--
        else at = element.end
        if (depth > depthMost) return false
        if (depth === 0) return true
      }
      return false
    },
    /** The next element is an octet string, whole or in pieces (X.690 §8.7). */
    readOctets(): Buffer | undefined {
      const first = next()
      if (first?.tag === octets)
        return isWithin(first, bytes.length) ? bytes.subarray(at, first.end) : undefined
      if (first?.tag !== (octets | constructed)) return undefined
      const content = Buffer.allocUnsafe(bytes.length - at)
      let length = 0
      /** Where the strings end that the place is in, from the outermost to the innermost. */
      const ends = [first.end]
      while (ends.length > 0) {
        const end = ends.at(-1)
        if (at === end) {
          ends.pop()
          continue
        }
        const element = next()
        if (!element || !isWithin(element, end ?? bytes.length)) return undefined
        if (element.tag === octets) {
          length += bytes.copy(content, length, at, element.end)
          at = element.end!
        } else if (element.tag === (octets | constructed) && ends.length < depthMost) ends.push(element.end)
        else if (element.tag === endOfContents && end === undefined) ends.pop()
        else return undefined
      }
      return content.subarray(0, length)
    },
  }
}

function isWithin({ start, end = start }: Element, limit: number): boolean {
  return end <= limit
}

/** Undefined where no element begins, or one of a form that CMS does not have. */
function elementAt(bytes: Buffer, at: number): Element | undefined {
  const [tag, first] = [bytes[at], bytes[at + 1]]
  if (tag === undefined || first === undefined) return undefined
  const start = at + 2
  if (tag === endOfContents) return first === 0 ? { tag, start, end: start } : undefined
  if (first < 0x80) return { tag, start, end: start + first }
  if (first === 0x80) return (tag & constructed) === 0 ? undefined : { tag, start, end: undefined }
  const count = first & 0x7f
  if (count > 4 || start + count > bytes.length) return undefined
  return { tag, start: start + count, end: start + count + bytes.readUIntBE(start, count) }
}
