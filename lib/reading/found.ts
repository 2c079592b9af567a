import type { Link } from '../mail/text/links.ts'

export interface OneTime {
  readonly kind: 'code' | 'link'
  readonly value: string
}

/** What an agent would look for in a message, found for it. */
export interface Extraction {
  /** What the sender wrote anew; null for an outbound message. */
  readonly replyText: string | null
  readonly otp: string | null
  /** What lets its reader in once: that code, or a link. */
  readonly oneTime: OneTime | null
  readonly links: Link[]
}

/**
 * What was found in an inbound message as its row keeps it. It is found once, when the message comes: of long HTML that takes
 * milliseconds, and a list shows a hundred. A replyText that is the whole text, without the line breaks around it, is not kept a second
 * time: it is read and written with each list.
 */
export function extractionColumn({ text }: { text: string }, extraction: Extraction): string {
  const { replyText, otp, oneTime, links } = extraction
  const signInLink = oneTime?.kind === 'link' ? oneTime.value : undefined
  const isTrimmed = replyText !== text && replyText === text.trim() ? true : undefined
  const kept = isTrimmed || replyText === text ? null : replyText
  return JSON.stringify({ replyText: kept, isTrimmed, otp, signInLink, links })
}

/** What stands in such a column, the replyText apart. */
export interface KeptExtraction {
  /** The replyText is the text without the white space at its ends. */
  readonly isTrimmed?: true
  readonly otp: string | null
  readonly signInLink?: string
  readonly links: Link[]
}

/** The code, or else the link, that lets its reader in once. */
export function oneTimeOf(otp: string | null, signInLink: string | null | undefined): OneTime | null {
  if (otp !== null) return { kind: 'code', value: otp }
  return signInLink == null ? null : { kind: 'link', value: signInLink }
}

/** The column of a message in which nothing is found. */
export const nothingFound = '{"replyText":null,"otp":null,"links":[]}'

/** The same where the text has line breaks at its end, as most texts have. */
export const nothingFoundTrimmed = '{"replyText":null,"isTrimmed":true,"otp":null,"links":[]}'
