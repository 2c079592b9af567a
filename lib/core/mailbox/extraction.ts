import { type Extraction, extract, nothingFound } from '../../reading/extraction.ts'
import type { WholeMessage } from '../../store/tables.ts'

/** What stands in the row; of a message that came before it was kept there, what is found now. */
export function extractionOf(row: WholeMessage): Extraction {
  if (row.direction === 'outbound') return { replyText: null, otp: null, links: [] }
  if (row.extracted === null) {
    return extract({ subject: row.subject, text: row.bodyText, html: row.bodyHtml })
  }
  if (row.extracted === nothingFound) return { replyText: row.bodyText, otp: null, links: [] }
  const kept = JSON.parse(row.extracted) as Extraction
  return { ...kept, replyText: kept.replyText ?? row.bodyText }
}
