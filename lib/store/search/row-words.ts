import type { WholeMessage } from '../tables.ts'
import { type SearchWords, searchWords } from './words.ts'

/** What a message is found by, from its rows. */
export function wordsOfRow(
  row: Pick<
    WholeMessage,
    | 'fromAddr'
    | 'headerTo'
    | 'toAddr'
    | 'cc'
    | 'bcc'
    | 'addressNames'
    | 'subject'
    | 'bodyText'
    | 'attachments'
  >,
): SearchWords {
  const list = (json: string) => JSON.parse(json) as string[]
  const attachments = JSON.parse(row.attachments) as { filename: string }[]
  return searchWords({
    from: row.fromAddr,
    to: [row.headerTo ?? row.toAddr, ...list(row.cc), ...list(row.bcc)],
    names: row.addressNames === null ? null : (JSON.parse(row.addressNames) as Record<string, string>),
    subject: row.subject,
    text: row.bodyText,
    filenames: attachments.map(({ filename }) => filename),
  })
}
