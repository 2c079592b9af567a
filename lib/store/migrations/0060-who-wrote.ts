import type { Migration } from './migration.ts'

/** Whether the author of a message is proven and took part in its thread; whom a draft without `to` goes to. */
export const whoWrote: Migration = {
  number: 60,
  name: 'who-wrote',
  breaking: false,
  sql: `
alter table "thread" add column "participants" text;
alter table "message" add column "fromProven" integer;
alter table "message" add column "isNewInThread" integer;
alter table "message" add column "autoReplyReason" text;
alter table "draft" add column "derived" text;
alter table "draft" add column "bodyFormat" text;
`,
}
