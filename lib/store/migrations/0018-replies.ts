import type { Migration } from './migration.ts'

/** A draft may be a reply to all, and may have several recipients with names, which an older program would not send to. */
export const replies: Migration = {
  number: 18,
  name: 'replies',
  breaking: true,
  sql: `
alter table "draft" add column "replyAll" integer;
`,
}
