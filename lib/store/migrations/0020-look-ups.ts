import type { Migration } from './migration.ts'

/** Inboxes have a clientId, as pods have; what each inbox did is counted by day; users tell the operator what they think. */
export const lookUps: Migration = {
  number: 20,
  name: 'look-ups',
  breaking: false,
  sql: `
alter table "inbox" add column "clientId" text;
alter table "inbox" add column "creationHash" text;
create unique index "inbox_clientId" on "inbox" ("podId", "clientId") where "clientId" is not null;
create table "dailyUsage" (
  "day" text not null,
  "inboxId" text not null references "inbox" ("id"),
  "podId" text not null,
  "inbound" integer not null,
  "outbound" integer not null,
  "delivered" integer not null,
  "bounced" integer not null,
  "attachmentGiB" integer not null,
  "attachmentBytes" integer not null,
  "storedGiB" integer not null,
  "storedBytes" integer not null,
  primary key ("day", "inboxId")
);
create index "dailyUsage_inboxList" on "dailyUsage" ("inboxId", "day");
create index "dailyUsage_podList" on "dailyUsage" ("podId", "day", "inboxId");
create table "feedback" (
  "id" text primary key,
  "type" text not null,
  "message" text not null,
  "context" text,
  "podId" text,
  "inboxId" text,
  "keyId" text,
  "createdAt" text not null
);
`,
}
