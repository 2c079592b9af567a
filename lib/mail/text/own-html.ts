import { walkHtml } from './html-walk.ts'

/** What of HTML its sender wrote anew, and how much it is. */
export interface OwnHtml {
  /** The HTML without what mail programs quote in it. */
  readonly html: string
  /** Its letters and digits, to be compared with what was read out of a text. */
  readonly letters: string
}

/** Classes and ids of elements in which programs put what they quote, and the line that says whose it is. */
const containers = new Set(
  'gmail_quote gmail_attr yahoo_quoted moz-cite-prefix moz-forward-container protonmail_quote tutanota_quote zmail_extra zmail_extra_hr blockquote_zmail front-blockquote missive_quote alimail-quote isreplycontent messagereplysection quote-pst reply-intro quoted_text freshdesk_quote hs_reply superhuman_quote mailspring-quote edo-original-msg'.split(
    ' ',
  ),
)
/** Behind these all is quoted. */
const markers = new Set(
  'divrplyfwdmsg appendonsend stopspelling olk_src_body_section mail-editor-reference-message-container zwchr replywithtemplate'.split(
    ' ',
  ),
)
const signatures = new Set(
  'gmail_signature gmail_signature_prefix moz-signature applemailsignature signature ms-outlook-mobile-signature protonmail_signature_block ymail_android_signature zmail_signature_below'.split(
    ' ',
  ),
)
/** What all of them hold, so that most mail is not walked through for them. */
const anyMark =
  /gmail_(?:quote|attr)|yahoo_quoted|moz-(?:cite|forward)|protonmail_quote|tutanota_|zmail_|front-blockquote|missive_quote|alimail-quote|isreplycontent|messagereplysection|quote-pst|reply-intro|quoted_text|freshdesk_quote|hs_reply|superhuman_quote|mailspring-quote|edo-original-msg|divrplyfwdmsg|appendonsend|stopspelling|olk_src_body_section|mail-editor-reference|zwchr|includetail|border-top: ?solid #|border-top-style: ?solid|\bcite ?=|=["']?cite\b|tabindex/i

/** A stretch of the HTML that is left out. */
interface Range {
  readonly from: number
  to: number
  /** Gmail's element around a quote: it ends where the first quote in it begins, for text behind that is new. */
  readonly isGmails: boolean
  isEnded: boolean
}

/**
 * HTML without its quotes, by the elements that mail programs put them in; undefined where it has none.
 * @param isForward the first of them is what was forwarded, and stays
 */
export function withoutQuotes(html: string, isForward: boolean): OwnHtml | undefined {
  if (!anyMark.test(html)) return undefined
  const quotes: Range[] = []
  const signed: Range[] = []
  /** For each open element the stretch that it is, if it is one; and of those that are open the innermost last. */
  const open: (Range | undefined)[] = []
  const inside: Range[] = []
  const letters: string[] = []
  let keeps = isForward
  let isBehindKept = false
  let isMarked = false
  const isOwn = () => inside.at(-1)?.isEnded ?? true
  const enter = (range: Range, list: Range[]) => {
    list.push(range)
    inside.push(range)
    return range
  }
  walkHtml(html, {
    open(name, attributes, _plausible, from) {
      const around = inside.at(-1)
      const kind = around && !around.isGmails ? undefined : kindOf(name, attributes)
      const isQuote = kind === 'container' || kind === 'marker'
      // Of one place some programs make several marks.
      if (isQuote && (keeps || (isBehindKept && kind === 'marker'))) {
        keeps = false
        isBehindKept = true
      } else if (kind === 'marker' && isOwn()) {
        isMarked = true
        quotes.push({ from, to: html.length, isGmails: false, isEnded: false })
      } else if (kind === 'container' && (isOwn() || name === 'blockquote')) {
        if (around && !around.isEnded) Object.assign(around, { to: from, isEnded: true })
        open.push(enter({ from, to: html.length, isGmails: name === 'div', isEnded: false }, quotes))
        return
      } else if (kind === 'signature' && isOwn()) {
        open.push(enter({ from, to: html.length, isGmails: false, isEnded: false }, signed))
        return
      }
      open.push(undefined)
    },
    close(_name, end) {
      const range = open.pop()
      if (!range) return
      inside.pop()
      if (!range.isEnded) range.to = end
    },
    text(text) {
      if (isBehindKept && text.trim() !== '') isBehindKept = false
      if (isOwn()) letters.push(text)
    },
    done: () => isMarked,
  })
  if (quotes.length === 0) return undefined
  return { html: without(html, [...quotes, ...signed]), letters: lettersOf(letters.join('')) }
}

/** The letters and digits of a text. */
export function lettersOf(text: string): string {
  return text.replace(/[^\p{L}\p{N}]+/gu, '')
}

function kindOf(
  name: string,
  attributes: Readonly<Record<string, string>>,
): 'container' | 'marker' | 'signature' | undefined {
  const { style = '', type = '', cite } = attributes
  if (name === 'blockquote' && (/^\s*cite/i.test(type) || isOfMail(cite))) return 'container'
  if (name === 'includetail') return 'container'
  if (name === 'hr' && attributes.tabindex === '-1') return 'marker'
  // Outlook's line above the header of what is quoted; Windows Mail's.
  if (name === 'div' && isBorderAbove(style.slice(0, 400))) return 'marker'
  for (const word of `${attributes.class ?? ''} ${attributes.id ?? ''}`
    .slice(0, 400)
    .toLowerCase()
    .split(/\s+/)) {
    const plain = word.replace(/^(?:x_)+/, '').replace(/^yiv\d+/, '')
    if (containers.has(plain) || /^(?:ydp[0-9a-z]{1,16})?yahoo_quoted/.test(plain)) return 'container'
    if (markers.has(plain)) return 'marker'
    if (signatures.has(plain)) return 'signature'
  }
  return undefined
}

/** Whether `cite` names a message: a page that it names is quoted by the sender. */
function isOfMail(cite: string | undefined): boolean {
  return cite !== undefined && !/^\s*https?:/i.test(cite)
}

function isBorderAbove(style: string): boolean {
  if (/border-top:\s?solid #(?:b5c4df|e1e1e1)/i.test(style)) return true
  return /border-top-style:\s?solid/i.test(style) && /rgb\(229, ?229, ?229\)/i.test(style)
}

/** The text outside of the ranges, which may hold one another. */
function without(html: string, ranges: readonly Range[]): string {
  const parts: string[] = []
  let at = 0
  for (const { from, to } of ranges.toSorted((one, other) => one.from - other.from)) {
    if (from > at) parts.push(html.slice(at, from))
    at = Math.max(at, to)
  }
  parts.push(html.slice(at))
  return parts.join('')
}
