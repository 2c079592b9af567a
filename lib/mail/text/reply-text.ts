import { htmlToText } from './html.ts'
import { attributionStart, isHeaderBlock, isSeparator } from './quote-header.ts'

/** Elements that mail programs quote in, each with its attributes; no character is looked at for two of them. */
const element = /<(div|span|hr|section|blockquote)\b([^>]{0,800})/gi
const quoteMarks =
  /\b(?:gmail_quote|yahoo_quoted|moz-cite-prefix|protonmail_quote|divRplyFwdMsg|appendonsend|stopSpelling|OLK_SRC_BODY_SECTION|mail-editor-reference-message-container)\b/gi
const blockquoteMark = /\btype\s*=\s*["']?cite\b|\bgmail_quote\b/i
/** The longest value of an attribute that a mark is looked for in. */
const valueLength = 200
/** Lines that are read; of what is longer the rest is taken as it stands. */
const linesRead = 20_000

/**
 * What the sender of a message wrote anew: without quoted history and signature, also between the parts of a quote.
 * Never empty when the message is not: of a message that is nothing but a quote, all of it.
 */
export function replyText(message: { readonly text: string; readonly html: string }): string {
  const whole = message.text.trim()
  const found = withoutHistory(message.text)
  // The text tells nothing of a quote: the HTML may, whatever language its attribution is in.
  const at = found === whole ? findQuoteElement(message.html) : -1
  const reply = at < 0 ? found : withoutHistory(htmlToText(message.html.slice(0, at)))
  return reply === '' ? whole : reply
}

/** Where in HTML the first element stands that a mail program put what it quotes in; -1 without one. */
export function findQuoteElement(html: string): number {
  for (const { 1: name = '', 2: attributes = '', index } of html.matchAll(element)) {
    const isQuote =
      name.toLowerCase() === 'blockquote' ? blockquoteMark.test(attributes) : isMarked(attributes)
    if (isQuote) return index
  }
  return -1
}

/** Whether one of the marks stands in the value of a `class` or an `id`. */
function isMarked(attributes: string): boolean {
  for (const { index } of attributes.matchAll(quoteMarks)) {
    const before = attributes.slice(Math.max(0, index - valueLength), index)
    const equals = before.lastIndexOf('=')
    const value = before
      .slice(equals + 1)
      .trimStart()
      .replace(/^["']/, '')
    if (equals < 0 || /["'>]/.test(value)) continue
    const name = before.slice(0, equals).trimEnd().slice(-6).toLowerCase()
    if (/\b(?:class|id)$/.test(name)) return true
  }
  return false
}

function withoutHistory(text: string): string {
  const all = text.split(/\r\n?|\n/)
  const lines = all.slice(0, linesRead)
  const rest = all.slice(linesRead)
  const parts: string[] = []
  let part: string[] = []
  const end = () => {
    const own = withoutSignature(part)
    if (own !== '') parts.push(own)
    part = []
  }
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at]!
    if (isSeparator(line) || isHeaderBlock(lines, at)) {
      // A line that asks to write above it stands at the top of what a program sent.
      if (parts.length > 0 || part.some(own => own.trim() !== '')) return closed(parts, part)
      if (isSeparator(line)) continue
    }
    if (isQuoted(line)) {
      end()
      continue
    }
    const start = attributionStart(lines, at)
    if (start === undefined) {
      part.push(line)
      continue
    }
    part.splice(Math.max(0, part.length - (at - start)))
    // What is not marked as a quote line by line is one to the end.
    if (!isQuoted(nextWords(lines, at + 1))) return closed(parts, part)
    end()
  }
  end()
  return [...parts, ...(rest.length > 0 ? [rest.join('\n')] : [])].join('\n\n').trim()
}

function nextWords(lines: readonly string[], from: number): string {
  for (let at = from; at < lines.length; at++) if (lines[at]!.trim() !== '') return lines[at]!
  return ''
}

function closed(parts: readonly string[], part: readonly string[]): string {
  const own = withoutSignature(part)
  return [...parts, ...(own === '' ? [] : [own])].join('\n\n').trim()
}

function isQuoted(line: string): boolean {
  return /^\s{0,3}>/.test(line)
}

const device = [
  'sent (?:from|via|with|using)\\b|get outlook for\\b|download .{0,30} for (?:ios|android)',
  'von (?:meinem|unterwegs)\\b.{0,40}gesendet|gesendet (?:von|mit)\\b|diese nachricht wurde von meinem',
  'envoyé (?:de|depuis|à partir)\\b|enviado (?:desde|do|de|a partir)\\b|inviato da',
  'verstuurd vanaf|verzonden (?:vanaf|met)|skickat från|sendt fra|lähetetty\\b.{0,40}|wysłane z|odesláno z',
  'отправлено (?:с|из)\\b|надіслано з|发自我的|從我的|从我的|来自我的|iphoneから送信|나의 iphone에서 보냄',
].join('|')
/** Not a sentence that begins alike: nothing that parts one stands in it. */
const deviceLine = new RegExp(`^(?:${device})[^,;:!?]{0,60}$|^(?:${device}).{0,20}[(<]?https?://\\S+$`, 'iu')
/** `-Ann Lee`, as a last line below a blank one. */
const nameLine = /^[-–—~]\s?\p{Lu}[\p{L}.'-]*(?: \p{Lu}[\p{L}.'-]*){0,3}$/u
const footer = /mailing list|listinfo|unsubscribe|mailman/i

/** A way to reach someone, alone on its line or behind what it is called: `Tel: +1 555 010 9999`. */
function isContact(line: string): boolean {
  const said = line.trim()
  const label = /^\W*\w[\w-]*[:.]\s*/.exec(said)?.[0].length ?? 0
  return isReach(said) || isReach(said.slice(label))
}

function isReach(text: string): boolean {
  const bare = text.replace(/^\W+/, '')
  return (
    /^[^\s@]+@[^\s@]+\.\w+$/.test(bare) ||
    /^(?:https?:\/\/|www\.)\S+$/i.test(bare) ||
    /^\d[\d\s().-]{6,}$/.test(bare)
  )
}

/** How many lines at the end are a card: a last paragraph of short lines, two of which are ways to reach someone. */
function contactLines(lines: readonly string[]): number {
  const above = lines.findLastIndex(line => line.trim() === '')
  const card = lines.slice(above + 1)
  const isCard =
    above > 0 && card.length <= 8 && card.length >= 3 && card.every(line => line.trim().length <= 60)
  return isCard && card.filter(isContact).length >= 2 ? card.length : 0
}

/** The text above its signature (RFC 3676 §4.3), the footer of a list, and the words of a device. */
function withoutSignature(lines: readonly string[]): string {
  const cut = lines.findIndex(
    (line, at) =>
      /^(?:--|—|–)\s*$/.test(line) ||
      (/^[_-]{20,}\s*$/.test(line) && lines.slice(at + 1, at + 4).some(next => footer.test(next))),
  )
  const kept = cut < 0 ? [...lines] : lines.slice(0, cut)
  for (;;) {
    const last = kept.at(-1)?.trim()
    if (last === undefined) return ''
    const isName = nameLine.test(last) && kept.length > 1 && kept.at(-2)!.trim() === ''
    // A line across the page parts the text from what was left out below it.
    const isRule = /^[\s*_=-]*$/.test(last)
    if (!isRule && !isName && !(last.length < 200 && deviceLine.test(last.replaceAll('*', '')))) break
    kept.pop()
  }
  const card = contactLines(kept)
  if (card > 0) kept.splice(-card)
  return kept
    .join('\n')
    .replace(/^\s*\n/, '')
    .trim()
}
