import { escapeHtml } from '../../base/text.ts'
import { singleLine } from '../header/text.ts'
import { htmlToText } from '../text/html.ts'
import { htmlFragment } from '../text/html-fragment.ts'

/** Characters of the previous message that a quote takes along; the rest is left out and said so. */
export const quoteLength = 100_000

/** The message that is replied to; with no text of its own its HTML is read as text. */
export interface QuotedMessage {
  readonly text: string
  readonly html: string | null
  readonly date: Date
  readonly from: { readonly address: string; readonly name: string | null }
}

/** What a message says in each of its forms; null for one that it has not. */
export interface Body {
  readonly text: string
  readonly html: string | null
}

/** Stands for what was left out. */
export const omission = '[…]'
const quoteStyle = 'margin:0 0 0 0.8ex;border-left:1px solid #ccc;padding-left:1ex'

/** A body with the quoted message below it, in each of its forms. */
export function withQuote(body: Body, previous: QuotedMessage): Body {
  return {
    text: `${body.text.replace(/\n$/, '')}\n\n${quoteText(previous)}`,
    html: body.html === null ? null : insertAtEnd(body.html, quoteHtml(previous)),
  }
}

/** `On <date>, <name> wrote:` and the text behind `> `; ends with a line end. */
export function quoteText(previous: QuotedMessage): string {
  const { text, cut } = shortened(textOf(previous))
  const lines = text.trimEnd().split(/\r\n?|\n/)
  if (cut) lines.push(omission)
  const quoted = lines.map(line => (line === '' ? '>' : `> ${line}`)).join('\n')
  return `${attribution(previous)}\n${quoted}\n`
}

/** The same as HTML that can stand inside other HTML; of a message with HTML, what it shows and nothing that acts. */
export function quoteHtml(previous: QuotedMessage): string {
  const { html, cut } =
    previous.html === null ? escapedText(previous) : htmlFragment(previous.html, quoteLength)
  const more = cut ? `<div>${omission}</div>` : ''
  return `<div><br>${escapeHtml(attribution(previous))}<br><blockquote type="cite" style="${quoteStyle}">${html}${more}</blockquote></div>`
}

/** The text as HTML that shows it line by line, and whether it was cut. */
export function escapedText(previous: Pick<QuotedMessage, 'text'>): { html: string; cut: boolean } {
  const { text, cut } = shortened(previous.text)
  return { html: `<div style="white-space:pre-wrap">${escapeHtml(text)}</div>`, cut }
}

/** What it says as text, read out of its HTML where it has none. */
export function textOf({ text, html }: Pick<QuotedMessage, 'text' | 'html'>): string {
  return text.trim() === '' && html !== null ? htmlToText(html) : text
}

/** The beginning of a text that is longer than is quoted. */
export function shortened(text: string): { text: string; cut: boolean } {
  if (text.length <= quoteLength) return { text, cut: false }
  return { text: text.slice(0, quoteLength).toWellFormed(), cut: true }
}

function attribution({ date, from }: QuotedMessage): string {
  // Thu, 01 Jan 2026 10:00:00 GMT
  const [, day, month, year, time] = date.toUTCString().split(' ')
  const name = singleLine(from.name ?? '') || singleLine(from.address)
  return `On ${Number(day)} ${month} ${year} at ${time?.slice(0, 5)} UTC, ${name} wrote:`
}

/** Inside the body, where the document closes it. */
export function insertAtEnd(html: string, quote: string): string {
  const end = [...html.matchAll(/<\/(?:body|html)\s*>/gi)].slice(-2)
  const at = (end.find(match => /body/i.test(match[0])) ?? end.at(-1))?.index ?? html.length
  return `${html.slice(0, at)}${quote}${html.slice(at)}`
}
