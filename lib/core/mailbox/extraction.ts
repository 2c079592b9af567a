import { type Extraction, extract, nothingFound } from '../../reading/extraction.ts'
import type { WholeMessage } from '../../store/tables.ts'
import { otpName, type ToldRow } from '../../store/told-messages.ts'

/** What stands in the row; of a message that came before it was kept there, what is found now. */
export function extractionOf(
  row: Pick<WholeMessage, 'direction' | 'extracted' | 'subject' | 'bodyText' | 'bodyHtml'>,
): Extraction {
  if (row.direction === 'outbound') return { replyText: null, otp: null, links: [] }
  if (row.extracted === null) {
    return extract({ subject: row.subject, text: row.bodyText, html: row.bodyHtml })
  }
  if (row.extracted === nothingFound) return { replyText: row.bodyText, otp: null, links: [] }
  const kept = JSON.parse(row.extracted) as Extraction
  return { ...kept, replyText: kept.replyText ?? row.bodyText }
}

/**
 * The same of a row in which the column was not read, but its beginning and its end: of a long replyText the beginning.
 * Quotes within a text of JSON are escaped, so what stands behind the replyText is found from the end.
 */
export function extractionWithin(row: ToldRow): Extraction & {
  /** Undefined when it is the text of the message. */
  readonly isReplyCut: boolean | undefined
} {
  if (row.direction === 'outbound') return { replyText: null, otp: null, links: [], isReplyCut: false }
  const [begin = '', begun] =
    /^\{"replyText":"((?:[^"\\]|\\u[0-9a-f]{4}|\\[^u])*)/.exec(row.extractedBegin ?? '') ?? []
  const end = row.extractedEnd ?? ''
  const { otp, links } = JSON.parse(`{${end.slice(end.lastIndexOf(otpName) + 1)}`) as Omit<
    Extraction,
    'replyText'
  >
  return {
    replyText: begun === undefined ? row.bodyText : (JSON.parse(`"${begun}"`) as string),
    otp,
    links,
    isReplyCut: begun === undefined ? undefined : begin.length === row.extractedBegin?.length,
  }
}
