import { limits } from '../base/limits.ts'
import { invalidRequest, Problem } from '../base/problem.ts'

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
const longestName = 'attachments'.length

/** A container that is open, and the name under which its next value stands. */
interface Container {
  readonly isObject: boolean
  name: string
}

/**
 * Looks over the bytes of a JSON text before anything is made of them, in linear time: a few megabytes of brackets or
 * names would be made into gigabytes. Whether it is JSON at all is left to whoever parses it.
 * @param takesContents whether long strings that are `content` or `data` of an item of `attachments` may stand in it: all
 * the rest is small then
 * @returns where those strings stand, in their order
 * @throws Problem `invalid_request` for what is nested too deeply or has too many values; `payload_too_large`
 */
export function scanJson(bytes: Buffer, takesContents: boolean): Span[] {
  const contents: Span[] = []
  /** How far the text may go: it is moved on by what is taken out. */
  let until: number = takesContents ? limits.jsonTextBytes : bytes.length
  let values = 1
  const open: Container[] = []
  let isName = false

  const count = () => {
    if (++values > limits.jsonValues)
      throw invalidRequest('body', `has more than ${limits.jsonValues} names and values`)
  }
  const begin = (isObject: boolean) => {
    if (open.push({ isObject, name: '' }) > limits.jsonDepth) {
      throw invalidRequest('body', `is nested deeper than ${limits.jsonDepth} levels`)
    }
    isName = isObject
    count()
  }

  for (let at = 0; at < bytes.length; at++) {
    switch (bytes[at]) {
      case quote: {
        const start = at + 1
        const end = endOfString(bytes, start) ?? bytes.length
        const length = end - start
        if (isName) open.at(-1)!.name = length > longestName ? '' : bytes.toString('latin1', start, end)
        else if (takesContents && length > limits.jsonContentBytes && isContent(open)) {
          contents.push({ start, end })
          until += length
        }
        at = end
        break
      }
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
    if (at > until) throw new Problem('payload_too_large')
  }
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

/** Where the quote is that ends the string; undefined when there is none. */
function endOfString(bytes: Buffer, start: number): number | undefined {
  // Most strings end at the first quote after them; to look for each of millions would cost more than each byte.
  const first = bytes.indexOf(quote, start)
  if (first < 0) return undefined
  if (bytes[first - 1] !== backslash) return first
  for (let at = start; at < bytes.length; at++) {
    if (bytes[at] === backslash) at++
    else if (bytes[at] === quote) return at
  }
  return undefined
}
