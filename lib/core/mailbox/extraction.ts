import {
  type Extraction,
  type KeptExtraction,
  nothingFound,
  nothingFoundTrimmed,
  oneTimeOf,
} from '../../reading/found.ts'
import type { WholeMessage } from '../../store/tables.ts'
import { otpName, type ToldRow } from '../../store/told-messages.ts'

/** The columns that it is found in, or was. Without the last two it is not known whether the message begins a thread. */
type Extracted = Pick<WholeMessage, 'category' | 'extracted' | 'subject' | 'bodyText' | 'bodyHtml'> &
  Partial<Pick<WholeMessage, 'inReplyTo' | 'references'>>

/** What stands in the row; of a message that came before it was kept there, what is found now. */
export async function extractionOf(
  row: Pick<WholeMessage, 'direction' | 'verdict'> & Extracted,
): Promise<Extraction> {
  if (row.direction === 'outbound') return nothing
  const extraction = await wholeExtraction(row)
  return row.verdict === 'clean' ? extraction : withoutWaysIn(extraction)
}

/** An agent uses a code or a link to sign in at once, so none is offered where somebody may have forged it. */
function withoutWaysIn<Found extends Extraction>(extraction: Found): Found {
  return { ...extraction, otp: null, oneTime: null }
}

async function wholeExtraction(row: Extracted): Promise<Extraction> {
  if (row.extracted === null) {
    const { extract } = await import('../../reading/extraction.ts')
    const message = {
      subject: row.subject,
      text: row.bodyText,
      html: row.bodyHtml,
      inReplyTo: row.inReplyTo === null ? [] : row.inReplyTo === undefined ? undefined : [row.inReplyTo],
      references: row.references === undefined ? undefined : (JSON.parse(row.references) as string[]),
    }
    return extract(message, row.category !== 'personal')
  }
  if (row.extracted === nothingFound) return { ...nothing, replyText: row.bodyText }
  if (row.extracted === nothingFoundTrimmed) return { ...nothing, replyText: row.bodyText.trim() }
  const { replyText, ...kept } = JSON.parse(row.extracted) as KeptExtraction & { replyText: string | null }
  return { replyText: replyText ?? textOf(row, kept.isTrimmed), ...foundIn(kept) }
}

const nothing: Extraction = { replyText: null, otp: null, oneTime: null, links: [] }

function textOf({ bodyText }: { readonly bodyText: string }, isTrimmed = false): string {
  return isTrimmed ? bodyText.trim() : bodyText
}

function foundIn({ otp, signInLink, links }: KeptExtraction): Omit<Extraction, 'replyText'> {
  return { otp, oneTime: oneTimeOf(otp, signInLink), links }
}

/**
 * The same of a row in which the column was not read, but its beginning and its end: of a long replyText the beginning.
 * Quotes within a text of JSON are escaped, so what stands behind the replyText is found from the end.
 */
export function extractionWithin(row: ToldRow): Extraction & {
  /** Undefined when it is the text of the message. */
  readonly isReplyCut: boolean | undefined
} {
  if (row.direction === 'outbound') return { ...nothing, isReplyCut: false }
  const [begin = '', begun] =
    /^\{"replyText":"((?:[^"\\]|\\u[0-9a-f]{4}|\\[^u])*)/.exec(row.extractedBegin ?? '') ?? []
  const isTrimmed = row.extractedBegin?.startsWith('{"replyText":null,"isTrimmed":true')
  const end = row.extractedEnd ?? ''
  const kept = JSON.parse(`{${end.slice(end.lastIndexOf(otpName) + 1)}`) as KeptExtraction
  const found = {
    replyText: begun === undefined ? textOf(row, isTrimmed) : (JSON.parse(`"${begun}"`) as string),
    ...foundIn(kept),
    isReplyCut: begun === undefined ? undefined : begin.length === row.extractedBegin?.length,
  }
  return row.verdict === 'clean' ? found : withoutWaysIn(found)
}
