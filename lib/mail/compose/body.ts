import { htmlToText, isHtml } from '../text/html.ts'
import { type ForwardedMessage, withForwarded } from './forward.ts'
import { type Body, type QuotedMessage, withQuote } from './quote.ts'

/**
 * The text and HTML parts of a message: HTML that stands in the text alone is recognised, and what is quoted, or passed on,
 * stands below.
 * @param own.html undefined where there is none beside the text
 */
export function composeBody(
  own: { readonly text: string; readonly html: string | undefined },
  quoted: QuotedMessage | null,
  forwarded: ForwardedMessage | null,
): Body {
  const body = ownBody(own)
  if (forwarded) return withForwarded(body, forwarded)
  return quoted ? withQuote(body, quoted) : body
}

function ownBody({ text, html }: { readonly text: string; readonly html: string | undefined }): Body {
  if (html !== undefined) return { text, html }
  return isHtml(text) ? { text: htmlToText(text), html: text } : { text, html: null }
}
