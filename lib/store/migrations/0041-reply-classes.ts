import type { Migration } from './migration.ts'

/** What the last refusal of a delivery is about, which decides when it is tried again and what it means when it is given up. */
export const replyClassesKept: Migration = {
  number: 41,
  name: 'reply-classes',
  breaking: false,
  sql: `
alter table "delivery" add column "replyClass" text;
`,
}
