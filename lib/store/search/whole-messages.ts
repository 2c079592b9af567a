import type { Db } from '../dialect/dialect.ts'

/** Messages with what they say, to be asked for further. */
export function wholeMessages(db: Db) {
  return db
    .selectFrom('message')
    .innerJoin('reading', 'reading.id', 'message.readingId')
    .selectAll('message')
    .select([
      'reading.bodyText',
      'reading.bodyHtml',
      'reading.attachments',
      'reading.extracted',
      'reading.parseProblems',
    ])
}
