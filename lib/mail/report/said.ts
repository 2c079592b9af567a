import type { Notice, Said } from './notice.ts'
import { classOf } from './reply-rules.ts'
import { findReply, type SaidReply, wordsOf } from './said-reply.ts'

/** Characters of a line before an address. */
const reportLineLength = 1000

/** How often an address is looked for, and how many paragraphs below it are looked through. */
const places = 8
const paragraphsBelow = 3

/**
 * What a notice says of an address: the reply that is quoted beside or below it, before anybody else is named; without
 * one the words there that say what it is about, and at least those nearest.
 * @param others who else the notice lists
 */
export function whatWasSaid(notice: Notice, address: string | undefined, others: readonly string[]): Said {
  const at = address === undefined ? [] : placesOf(notice, address)
  const next = nextOf(notice, new Set(others))
  const quoted = findQuoted(notice, at, address?.length ?? 0, others.length > 0, next)
  if (quoted?.reply.code !== undefined) {
    const [paragraph = ''] = quoted.text
      .slice(quoted.reply.index)
      .trimStart()
      .split(/\n[ \t]*\n/, 1)
    // A code behind the words that it goes with: `no such user (550)`.
    if (/\p{L}/u.test(paragraph.replace(/^\W{0,3}(?:said|code|error|response)\b/i, '')))
      return said(notice, quoted.reply, wordsOf(paragraph))
  }
  const texts = wordsAround(notice, at, address?.length ?? 0, next).map(wordsOf)
  const spoken = texts.filter(text => /[\p{L}\d]/u.test(text))
  const telling = spoken.find(text => said(notice, quoted?.reply, text).replyClass !== undefined)
  return said(notice, quoted?.reply, telling ?? spoken[0] ?? '')
}

/** Once for each text: what stands between them is said of several. */
function said({ known }: Notice, reply: SaidReply | undefined, text: string): Said {
  const { code, enhanced } = reply ?? {}
  const name = `${code} ${enhanced} ${text}`
  const replyClass = known.has(name) ? known.get(name) : classOf({ code, enhanced, text })
  known.set(name, replyClass)
  return { reply, text, replyClass }
}

/** Where it is named; where it is part of something longer, when it is nowhere alone. */
function placesOf({ named, lower }: Notice, address: string): number[] {
  const alone = named.filter(one => one.address === address).slice(0, places)
  if (alone.length > 0) return alone.map(one => one.at)
  const found: number[] = []
  for (let at = lower.indexOf(address); at >= 0 && found.length < places; ) {
    found.push(at)
    at = lower.indexOf(address, at + address.length)
  }
  return found
}

/** The reply: in a line before the address, below it before anybody else is named, or, when nobody else is, anywhere. */
function findQuoted(
  { text }: Notice,
  at: readonly number[],
  length: number,
  hasOthers: boolean,
  next: (from: number) => number,
) {
  const lines = at.map(place => text.slice(lineStart(text, place), place))
  const sections = at.map(place => text.slice(place + length, next(place + length)))
  const anywhere = hasOthers ? [] : [...(at[0] === undefined ? [] : [text.slice(at[0] + length)]), text]
  const replies = [...lines, ...sections, ...anywhere].flatMap((where, index) => {
    const reply = findReply(where)
    return reply ? [{ reply, text: index < lines.length ? lineFrom(text, at[index]!, length) : where }] : []
  })
  return replies.find(({ reply }) => reply.code !== undefined) ?? replies[0]
}

/** Gives the function that says where the next of the others is named. */
function nextOf({ named, lower }: Notice, others: ReadonlySet<string>): (from: number) => number {
  const found = named.filter(({ address }) => others.has(address))
  return from => found.find(({ at }) => at >= from)?.at ?? lower.length
}

/** Of a line without an end, so much as can be one. */
function lineStart(text: string, place: number): number {
  return Math.max(text.lastIndexOf('\n', place) + 1, place - reportLineLength)
}

/** The line that an address stands in, which is all that a reply there says; to the end where it ends with the address. */
function lineFrom(text: string, at: number, length: number): string {
  const end = text.indexOf('\n', at)
  const isCut = end < 0 || !/[\p{L}\d]/u.test(text.slice(at + length, end))
  return text.slice(lineStart(text, at), isCut ? undefined : end)
}

/** Words beside the address, below it, and above it, the nearest first; all, where it is not named. */
function wordsAround(
  { text, paragraphs }: Notice,
  at: readonly number[],
  length: number,
  next: (from: number) => number,
): string[] {
  if (at.length === 0) return paragraphs.map(paragraph => paragraph.text)
  const beside = at.flatMap(place => {
    const line = lineStart(text, place)
    const inside = paragraphs.find(({ start, text: own }) => start <= place && place < start + own.length)
    const end = inside === undefined ? place + length : inside.start + inside.text.length
    const until = Math.min(end, next(place))
    const isFirst = !/[\p{L}\d]/u.test(text.slice(line, place))
    return isFirst ? [behind(text.slice(place + length, until))] : [text.slice(line, until)]
  })
  const index = paragraphs.findLastIndex(({ start }) => start <= at[0]!)
  const below = paragraphs.slice(index + 1, index + 1 + paragraphsBelow)
  const namesOther = (start: number, end: number) => next(start) < end
  const isOfOthers = below.findIndex(one => namesOther(one.start, one.start + one.text.length))
  const above = paragraphs.slice(Math.max(0, index - 1), Math.max(0, index))
  const own = paragraphs[index]
  const line = text.lastIndexOf('\n', at[0]!) + 1
  const begin = own === undefined ? line : Math.max(own.start, line - reportLineLength)
  return [
    ...beside,
    ...(isOfOthers < 0 ? below : below.slice(0, isOfOthers)).map(one => one.text),
    ...(namesOther(begin, line) ? [] : [text.slice(begin, line)]),
    ...above.map(one => one.text),
  ]
}

function behind(text: string): string {
  return text.replace(/^[>)\]"':;,.\s]+/, '')
}
