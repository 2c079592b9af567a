import type { Pace } from '../base/concurrency.ts'
import { invalidRequest, Problem } from '../base/problem.ts'

/**
 * A JSON body: levels inside one another, names and values in all, its bytes besides the contents of attachments, and
 * from how many bytes on such a content is taken out before the rest is parsed.
 */
export const jsonDepth = 32
export const jsonValues = 20_000
export const jsonTextBytes = 4 * 1024 * 1024
export const jsonContentBytes = 4 * 1024

/** Where a string stands in the bytes of a JSON text, without its quotes. */
export interface Span {
  readonly start: number
  readonly end: number
}

const byte = (character: string) => character.charCodeAt(0)
const quote = byte('"')
const backslash = byte('\\')
const [openObject, closeObject, openArray, closeArray] = [byte('{'), byte('}'), byte('['), byte(']')]
const [comma, colon] = [byte(','), byte(':')]
/** After so many bytes it is asked whether to go on. */
const stepBytes = 64 * 1024
const longestName = 'attachments'.length

/** A container that is open, and the name under which its next value stands. */
interface Container {
  readonly isObject: boolean
  name: string
}

/**
 * Looks over the bytes of a JSON text before anything is made of them, in linear time and at a pace: a few megabytes of
 * brackets or names would be made into gigabytes. Whether it is JSON at all is left to whoever parses it.
 * @param takesContents whether long strings that are `content` or `data` of an item of `attachments` may stand in it: all
 * the rest is small then
 * @returns where those strings stand, in their order
 * @throws Problem `invalid_request` for what is nested too deeply or has too many values; `payload_too_large`
 */
export async function scanJson(bytes: Buffer, takesContents: boolean, pace: Pace): Promise<Span[]> {
  const contents: Span[] = []
  /** How far the text may go: it is moved on by what is taken out. */
  let until: number = takesContents ? jsonTextBytes : bytes.length
  let values = 1
  const open: Container[] = []
  let isName = false
  /** Where the string began in which the scan stands; less than 0 outside of one. */
  let start = -1
  /** Whether a backslash takes its meaning from what comes next. */
  let isEscaped = false

  const count = () => {
    if (++values > jsonValues) throw invalidRequest('body', `has more than ${jsonValues} names and values`)
  }
  const begin = (isObject: boolean) => {
    if (open.push({ isObject, name: '' }) > jsonDepth) {
      throw invalidRequest('body', `is nested deeper than ${jsonDepth} levels`)
    }
    isName = isObject
    count()
  }

  const requireRoom = (at: number) => {
    if (at > until) throw new Problem('payload_too_large')
  }
  const end = (at: number) => {
    const length = at - start
    if (isName) open.at(-1)!.name = length > longestName ? '' : bytes.toString('latin1', start, at)
    else if (takesContents && length > jsonContentBytes && isContent(open)) {
      contents.push({ start, end: at })
      until += length
    }
    start = -1
    requireRoom(at)
  }

  let paced = 0
  for (let at = 0; at < bytes.length; at++) {
    if (at >= paced) {
      await pace(stepBytes)
      paced = at + stepBytes
    }
    if (start >= 0) {
      // Each byte is looked at once: who looks back over backslashes does as much as a stranger likes.
      if (isEscaped) isEscaped = false
      else if (bytes[at] === backslash) isEscaped = true
      else if (bytes[at] === quote) end(at)
      continue
    }
    switch (bytes[at]) {
      case quote:
        start = at + 1
        break
      case openObject:
        begin(true)
        break
      case openArray:
        begin(false)
        break
      case closeObject:
      case closeArray:
        open.pop()
        isName = false
        break
      case colon:
        isName = false
        count()
        break
      case comma:
        isName = open.at(-1)?.isObject === true
        count()
        break
      default:
    }
    requireRoom(at)
  }
  if (start >= 0) end(bytes.length)
  return contents
}

function isContent(open: readonly Container[]): boolean {
  const [body, list, attachment] = open
  return (
    open.length === 3 &&
    body!.name === 'attachments' &&
    !list!.isObject &&
    (attachment!.name === 'content' || attachment!.name === 'data')
  )
}
