import type { Migration } from './migration.ts'

export const drafts: Migration = {
  number: 6,
  name: 'drafts',
  breaking: false,
  sql: `
create table "draft" (
  "id" text primary key,
  "inboxId" text not null references "inbox" ("id"),
  "threadId" text,
  "to" text not null,
  "cc" text not null,
  "bcc" text not null,
  "subject" text,
  "body" text,
  "bodyHtml" text,
  "replyTo" text,
  "includeQuote" integer,
  "autoSubmitted" integer,
  "sendAt" text,
  "status" text not null,
  "messageId" text,
  "lastError" text,
  "revision" integer not null,
  "createdAt" text not null,
  "updatedAt" text not null
);
create index "draft_list" on "draft" ("inboxId", "id", "status");
create table "draftAttachment" (
  "id" text primary key,
  "draftId" text not null references "draft" ("id"),
  "filename" text not null,
  "contentType" text not null,
  "sizeBytes" integer not null,
  "content" blob
);
create index "draftAttachment_draft" on "draftAttachment" ("draftId", "id");
create index "event_inboxList" on "event" ("inboxId", "id", "type");
create index "event_podList" on "event" ("podId", "id", "type");
create index "event_typeList" on "event" ("type", "id");
`,
}
