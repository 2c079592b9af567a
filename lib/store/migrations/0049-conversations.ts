import type { Migration } from './migration.ts'

/** What Exchange calls the conversation that a thread began with: replies of its kin may bear no ids. */
export const conversations: Migration = {
  number: 49,
  name: 'conversations',
  breaking: false,
  sql: `
alter table "thread" add column "conversation" text;
create index "thread_conversation" on "thread" ("inboxId", "conversation", "id") where "conversation" is not null;
`,
}
