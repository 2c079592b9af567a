import { findLinks, type Link } from '../../mail/text/links.ts'
import { findOtp } from '../../mail/text/otp.ts'
import { replyText } from '../../mail/text/reply-text.ts'
import type { MessageRow } from '../../store/tables.ts'

/** What an agent would look for in a message, found for it. */
export interface Extraction {
  /** What the sender wrote anew; null for an outbound message. */
  readonly replyText: string | null
  readonly otp: string | null
  readonly links: Link[]
}

/**
 * Reads an inbound message, once, when it comes: of long HTML it takes milliseconds, and a list shows a hundred. In the
 * row a replyText that is the whole text is null.
 */
export function extractionColumn(message: { subject: string; text: string; html: string }): string {
  const { replyText, ...rest } = extract(message)
  return JSON.stringify({ replyText: replyText === message.text ? null : replyText, ...rest })
}

function extract(message: { subject: string; text: string; html: string }): Extraction {
  const reply = replyText(message)
  return {
    replyText: reply,
    // A code in what is quoted was for the one who is quoted.
    otp: findOtp({ subject: message.subject, text: reply }),
    links: findLinks({ text: reply, html: message.html }),
  }
}

/** What stands in the rows of most messages. */
const nothingFound = '{"replyText":null,"otp":null,"links":[]}'

/** What stands in the row; of a message that came before it was kept there, what is found now. */
export function extractionOf(row: MessageRow): Extraction {
  if (row.direction === 'outbound') return { replyText: null, otp: null, links: [] }
  if (row.extracted === null) {
    return extract({ subject: row.subject, text: row.bodyText, html: row.bodyHtml })
  }
  if (row.extracted === nothingFound) return { replyText: row.bodyText, otp: null, links: [] }
  const kept = JSON.parse(row.extracted) as Extraction
  return { ...kept, replyText: kept.replyText ?? row.bodyText }
}
