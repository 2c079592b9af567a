import { findLinks, type Link } from '../mail/text/links.ts'
import { findOtp } from '../mail/text/otp.ts'
import { newText } from '../mail/text/reply-text.ts'

/** What an agent would look for in a message, found for it. */
export interface Extraction {
  /** What the sender wrote anew; null for an outbound message. */
  readonly replyText: string | null
  readonly otp: string | null
  readonly links: Link[]
}

/**
 * What was found in an inbound message as its row keeps it. It is found once, when the message comes: of long HTML that takes
 * milliseconds, and a list shows a hundred. A replyText that is the whole text is null.
 */
export function extractionColumn({ text }: { text: string }, { replyText, ...rest }: Extraction): string {
  return JSON.stringify({ replyText: replyText === text ? null : replyText, ...rest })
}

/** The column of a message in which nothing is found, as of most. */
export const nothingFound = '{"replyText":null,"otp":null,"links":[]}'

export function extract(message: { subject: string; text: string; html: string }): Extraction {
  const { text: reply, isForward } = newText(message)
  return {
    replyText: reply,
    // A code in what is quoted was for the one who is quoted.
    otp: findOtp({ subject: message.subject, text: reply }),
    links: findLinks({ text: reply, html: message.html, isForward }),
  }
}
