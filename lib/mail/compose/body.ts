import { htmlToText, isHtml } from '../text/html.ts'
import { type ForwardedMessage, withForwarded } from './forward.ts'
import { type Body, type QuotedMessage, withQuote } from './quote.ts'

/** How a text is meant; `auto`: as HTML if it looks like HTML. */
export type BodyFormat = 'auto' | 'text' | 'html'

interface OwnBody {
  readonly text: string
  /** undefined if there is none besides the text. */
  readonly html: string | undefined
  readonly format: BodyFormat
}

/** Makes the text and HTML parts of a message, with what it quotes or passes on below. */
export function composeBody(
  own: OwnBody,
  quoted: QuotedMessage | null,
  forwarded: ForwardedMessage | null,
): Body {
  const body = ownBody(own)
  if (forwarded) return withForwarded(body, forwarded)
  return quoted ? withQuote(body, quoted) : body
}

function ownBody({ text, html, format }: OwnBody): Body {
  const isMarkup = format === 'html' || (format === 'auto' && html === undefined && isHtml(text))
  const plain = isMarkup ? htmlToText(text) : text
  return { text: plain, html: html ?? (isMarkup ? text : null) }
}
