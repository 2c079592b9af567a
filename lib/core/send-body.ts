import { htmlToText, isHtml } from '../mail/html.ts'
import { withQuote } from '../mail/quote.ts'
import type { SendRequest } from '../model/send.ts'
import type { MessageRow } from '../store/tables.ts'

export interface Body {
  readonly text: string
  readonly html: string | null
}

/** The text and HTML parts of a send: HTML in `body` is recognised, and a reply quotes its parent unless asked not to. */
export function bodyOf(request: SendRequest, parent: MessageRow | undefined): Body {
  const own = ownBody(request)
  if (!parent || request.includeQuote === false) return own
  const names =
    parent.addressNames === null ? {} : (JSON.parse(parent.addressNames) as Record<string, string>)
  return withQuote(own, {
    text: parent.bodyText,
    html: parent.bodyHtml === '' ? null : parent.bodyHtml,
    date: new Date(parent.createdAt),
    from: { address: parent.fromAddr, name: names[parent.fromAddr.toLowerCase()] ?? null },
  })
}

function ownBody({ body, bodyHtml }: SendRequest): Body {
  if (bodyHtml !== undefined) return { text: body, html: bodyHtml }
  return isHtml(body) ? { text: htmlToText(body), html: body } : { text: body, html: null }
}
