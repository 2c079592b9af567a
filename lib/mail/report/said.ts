import type { ReplyClass } from '../../base/reply-class.ts'
import type { Notice } from './notice.ts'
import { classOf } from './reply-rules.ts'
import { findReply, type SaidReply, wordsOf } from './said-reply.ts'

/** What a notice says of one recipient. */
export interface Said {
  readonly reply: SaidReply | undefined
  readonly text: string
  readonly replyClass: ReplyClass | undefined
}

/** How often an address is looked for, and how many paragraphs below it are looked through. */
const places = 8
const paragraphsBelow = 3

/**
 * What a notice says of an address: the reply that is quoted beside or below it, before anybody else is named; without
 * one the words there that say what it is about, and at least those nearest.
 * @param others who else the notice lists
 */
export function whatWasSaid(notice: Notice, address: string | undefined, others: readonly string[]): Said {
  const at = address === undefined ? [] : placesOf(notice.lower, address)
  const quoted = findQuoted(notice, at, address?.length ?? 0, others)
  if (quoted?.reply.code !== undefined) {
    const [paragraph = ''] = quoted.text
      .slice(quoted.reply.index)
      .trimStart()
      .split(/\n[ \t]*\n/, 1)
    return said(quoted.reply, wordsOf(paragraph))
  }
  const texts = wordsAround(notice, at, address?.length ?? 0, others).map(wordsOf)
  const spoken = texts.filter(text => /[\p{L}\d]/u.test(text))
  const telling = spoken.find(text => said(quoted?.reply, text).replyClass !== undefined)
  return said(quoted?.reply, telling ?? spoken[0] ?? '')
}

function said(reply: SaidReply | undefined, text: string): Said {
  return { reply, text, replyClass: classOf({ code: reply?.code, enhanced: reply?.enhanced, text }) }
}

function placesOf(lower: string, address: string): number[] {
  const found: number[] = []
  for (let at = lower.indexOf(address); at >= 0 && found.length < places; ) {
    found.push(at)
    at = lower.indexOf(address, at + address.length)
  }
  return found
}

/** The reply: in a line before the address, below it before anybody else is named, or, when nobody else is, anywhere. */
function findQuoted(notice: Notice, at: readonly number[], length: number, others: readonly string[]) {
  const { text } = notice
  const lines = at.map(place => text.slice(text.lastIndexOf('\n', place) + 1, place))
  const sections = at.map(place => text.slice(place + length, nextOf(notice, place + length, others)))
  const anywhere =
    others.length > 0 ? [] : [...(at[0] === undefined ? [] : [text.slice(at[0] + length)]), text]
  const replies = [...lines, ...sections, ...anywhere].flatMap((where, index) => {
    const reply = findReply(where)
    return reply ? [{ reply, text: index < lines.length ? lineFrom(text, at[index]!, length) : where }] : []
  })
  return replies.find(({ reply }) => reply.code !== undefined) ?? replies[0]
}

/** Where the next of the others is named. */
function nextOf({ lower }: Notice, from: number, others: readonly string[]): number {
  return Math.min(lower.length, ...others.map(one => lower.indexOf(one, from)).filter(at => at >= 0))
}

/** The line that an address stands in, which is all that a reply there says; to the end where it ends with the address. */
function lineFrom(text: string, at: number, length: number): string {
  const end = text.indexOf('\n', at)
  const isCut = end < 0 || !/[\p{L}\d]/u.test(text.slice(at + length, end))
  return text.slice(text.lastIndexOf('\n', at) + 1, isCut ? undefined : end)
}

/** Words beside the address, below it, and above it, the nearest first; all, where it is not named. */
function wordsAround(
  { text, lower, paragraphs }: Notice,
  at: readonly number[],
  length: number,
  others: readonly string[],
): string[] {
  if (at.length === 0) return paragraphs.map(paragraph => paragraph.text)
  const beside = at.flatMap(place => {
    const line = text.lastIndexOf('\n', place) + 1
    const inside = paragraphs.find(({ start, text: own }) => start <= place && place < start + own.length)
    const end = inside === undefined ? place + length : inside.start + inside.text.length
    const until = Math.min(end, ...others.map(one => lower.indexOf(one, place)).filter(next => next >= 0))
    const isFirst = !/[\p{L}\d]/u.test(text.slice(line, place))
    return isFirst ? [behind(text.slice(place + length, until))] : [text.slice(line, until)]
  })
  const index = paragraphs.findLastIndex(({ start }) => start <= at[0]!)
  const below = paragraphs.slice(index + 1, index + 1 + paragraphsBelow)
  const isOfOthers = below.findIndex(one => others.some(other => one.text.toLowerCase().includes(other)))
  const above = paragraphs.slice(Math.max(0, index - 1), Math.max(0, index))
  const own = paragraphs[index]
  const before = own === undefined ? '' : text.slice(own.start, text.lastIndexOf('\n', at[0]!) + 1)
  return [
    ...beside,
    ...(isOfOthers < 0 ? below : below.slice(0, isOfOthers)).map(one => one.text),
    ...(others.some(other => before.toLowerCase().includes(other)) ? [] : [before]),
    ...above.map(one => one.text),
  ]
}

function behind(text: string): string {
  return text.replace(/^[>)\]"':;,.\s]+/, '')
}
