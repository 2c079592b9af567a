import type { WholeMessage } from '../tables.ts'
import { type SearchTexts, type SearchWords, searchWords } from './words.ts'

/** What of a message's rows it is found by. */
export type SearchedRow = Pick<
  WholeMessage,
  'fromAddr' | 'headerTo' | 'toAddr' | 'cc' | 'bcc' | 'addressNames' | 'subject' | 'bodyText' | 'attachments'
>

/** The words of a message, from its rows. */
export function wordsOfRow(row: SearchedRow): SearchWords {
  return searchWords(textsOfRow(row))
}

/** The texts that these words are read from. */
export function textsOfRow(row: SearchedRow): SearchTexts {
  const list = (json: string) => JSON.parse(json) as string[]
  const attachments = JSON.parse(row.attachments) as { filename: string }[]
  return {
    from: row.fromAddr,
    to: [row.headerTo ?? row.toAddr, ...list(row.cc), ...list(row.bcc)],
    names: row.addressNames === null ? null : (JSON.parse(row.addressNames) as Record<string, string>),
    subject: row.subject,
    text: row.bodyText,
    filenames: attachments.map(({ filename }) => filename),
  }
}
