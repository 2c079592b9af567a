import type { Migration } from './migration.ts'

/** Acquaintances are filled in from the mail that is there: none of it may count as cold. */
export const sendingLimits: Migration = {
  number: 5,
  name: 'limits',
  breaking: false,
  sql: `
create table "contact" (
  "inboxId" text not null references "inbox" ("id"),
  "address" text not null,
  "createdAt" text not null,
  primary key ("inboxId", "address")
);
create table "usage" (
  "subject" text not null,
  "kind" text not null,
  "period" text not null,
  "count" integer not null,
  primary key ("subject", "kind", "period")
);
create index "usage_period" on "usage" ("kind", "period", "count");
insert into "contact" ("inboxId", "address", "createdAt")
select "message"."inboxId", "delivery"."recipient", min("delivery"."createdAt")
from "delivery" join "message" on "message"."id" = "delivery"."messageId"
group by "message"."inboxId", "delivery"."recipient";
insert into "contact" ("inboxId", "address", "createdAt")
select "inboxId", lower("fromAddr"), min("createdAt")
from "message" where "direction" = 'inbound' and "verdict" = 'clean'
group by "inboxId", lower("fromAddr")
on conflict do nothing;
`,
}
