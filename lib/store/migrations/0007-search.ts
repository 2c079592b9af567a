import { sql } from 'kysely'
import type { WriteDb } from '../dialect/dialect.ts'
import { indexMessages } from '../search/full-text.ts'
import { wordsOfRow } from '../search/row-words.ts'
import type { WholeMessage } from '../tables.ts'
import type { Migration } from './migration.ts'

export const search: Migration = {
  number: 7,
  name: 'search',
  // A program that does not know it would receive messages that are never found.
  breaking: true,
  sql: `
alter table "message" add column "extracted" text;
-- only on sqlite
create virtual table "messageSearch" using fts5(
  "messageId" unindexed,
  "threadId" unindexed,
  "mark",
  "from",
  "to",
  "subject",
  "body",
  content='',
  contentless_delete=1,
  contentless_unindexed=1,
  tokenize='ascii'
);
-- end only
-- only on postgres
create table "messageSearch" (
  "messageId" text primary key,
  "threadId" text not null,
  "createdAt" text not null,
  "document" tsvector not null
);
create index "messageSearch_document" on "messageSearch" using gin ("document");
-- end only
`,
  fill: indexAll,
}

const rowsAtOnce = 200

/** Messages that came before. */
async function indexAll(db: WriteDb): Promise<void> {
  for (let last = ''; ; ) {
    // As the table was then.
    const { rows } = await sql<WholeMessage & { podId: string }>`
      select "message".*, "inbox"."podId" from "message" inner join "inbox" on "inbox"."id" = "message"."inboxId"
      where "message"."id" > ${last} order by "message"."id" limit ${rowsAtOnce}`.execute(db)
    for (const row of rows) {
      await indexMessages(db, [{ ...row, hasAttachments: row.attachments !== '[]', words: wordsOfRow(row) }])
    }
    if (rows.length < rowsAtOnce) return
    last = rows.at(-1)!.id
  }
}
