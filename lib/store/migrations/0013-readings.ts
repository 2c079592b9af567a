import type { Migration } from './migration.ts'

export const readings: Migration = {
  number: 13,
  name: 'readings',
  breaking: true,
  // What came to several inboxes has one raw, and was read to the same.
  sql: `
create table "reading" (
  "id" text primary key,
  "bodyText" text not null,
  "bodyHtml" text not null,
  "attachments" text not null,
  "extracted" text,
  "parseProblems" text not null
);
insert into "reading" ("id", "bodyText", "bodyHtml", "attachments", "extracted", "parseProblems")
  select "rawId", "bodyText", "bodyHtml", "attachments", "extracted", '[]' from "message" where "id" in (
    select min("id") from "message" where "direction" = 'inbound' and "rawId" is not null group by "rawId");
insert into "reading" ("id", "bodyText", "bodyHtml", "attachments", "extracted", "parseProblems")
  select "id", "bodyText", "bodyHtml", "attachments", "extracted", '[]' from "message"
    where "direction" = 'outbound' or "rawId" is null;
alter table "message" add column "readingId" text references "reading" ("id");
update "message" set "readingId" =
  case when "direction" = 'inbound' and "rawId" is not null then "rawId" else "id" end;
create index "message_reading" on "message" ("readingId");
alter table "message" drop column "bodyText";
alter table "message" drop column "bodyHtml";
alter table "message" drop column "attachments";
alter table "message" drop column "extracted";
create table "unindexedBody" (
  "messageId" text primary key references "message" ("id")
);
`,
}
