import type { Migration } from './migration.ts'

/** What is told of the recipients of one submitted message is told together. */
export const owedNotices: Migration = {
  number: 51,
  name: 'owed-notices',
  breaking: false,
  sql: `
alter table "delivery" add column "noticeAt" text;
create index "delivery_noticeAt" on "delivery" ("noticeAt", "messageId") where "noticeAt" is not null;
`,
}
