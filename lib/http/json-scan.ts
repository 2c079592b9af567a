import { limits } from '../base/limits.ts'
import { invalidRequest, Problem } from '../base/problem.ts'
import type { Pace } from '../base/turns.ts'

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

  let paced = 0
  for (let at = 0; at < bytes.length; at++) {
    if (at >= paced) {
      await pace(at - paced + stepBytes)
      paced = at + stepBytes
    }
    switch (bytes[at]) {
      case quote: {
        const start = at + 1
        let end = bytes.indexOf(quote, start)
        // Most strings end at the first quote after them.
        if (end >= 0 && isEscaped(bytes, end, start)) end = await endOfString(bytes, start, end, pace)
        if (end < 0) end = bytes.length
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

/** Where the quote is that ends a string that has quotes in it; less than 0 when there is none. @param from a quote in it */
async function endOfString(bytes: Buffer, start: number, from: number, pace: Pace): Promise<number> {
  let paced = from
  let at = from
  while (at >= 0 && isEscaped(bytes, at, start)) {
    if (at >= paced) {
      await pace(at - paced + stepBytes)
      paced = at + stepBytes
    }
    at = bytes.indexOf(quote, at + 1)
  }
  return at
}

/** Whether the quote is part of the string: an odd number of backslashes stands before it. */
function isEscaped(bytes: Buffer, at: number, start: number): boolean {
  let before = at
  while (before > start && bytes[before - 1] === backslash) before--
  return (at - before) % 2 === 1
}
