import type { Migration } from './migration.ts'

/**
 * All messages are put into the index by a follower. Those that are noted now have some of their words in it; a program that does not
 * know it would leave new ones out.
 */
export const indexFollows: Migration = {
  number: 29,
  name: 'index-follows',
  breaking: true,
  sql: `
alter table "unindexedBody" add column "state" text not null default 'partial';
create index "unindexedBody_state" on "unindexedBody" ("state", "messageId");
`,
}
