import type { Migration } from './migration.ts'

/** The texts of attachments, as they are asked for. A program that does not know them could not delete a message that has one. */
export const attachmentTexts: Migration = {
  number: 21,
  name: 'attachment-texts',
  breaking: true,
  sql: `
create table "attachmentText" (
  "readingId" text not null references "reading" ("id"),
  "index" integer not null,
  "extractionMethod" text not null,
  "content" text,
  "createdAt" text not null,
  primary key ("readingId", "index")
);
`,
}
