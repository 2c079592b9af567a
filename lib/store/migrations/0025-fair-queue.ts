import type { Migration } from './migration.ts'

/**
 * The queue knows whom each entry is for, so that places can be shared; what a destination has no room for is found by
 * rows. A lease was held in the name of the host, now in that of the data directory: all are given back, for nobody
 * carries anything while the schema changes.
 */
export const fairQueue: Migration = {
  number: 25,
  name: 'fair-queue',
  breaking: true,
  sql: `
alter table "queueEntry" add column "podId" text not null default '-';
alter table "queueEntry" add column "inboxId" text not null default '-';
alter table "queueEntry" add column "cutOffs" integer not null default 0;
update "queueEntry" set "state" = 'ready' where "state" = 'parked';
update "queueEntry" set "leasedBy" = null, "leasedUntil" = null, "dueAt" = "createdAt" where "leasedBy" is not null;
update "queueEntry" set "inboxId" = coalesce((select "message"."inboxId" from "delivery" join "message" on "message"."id" = "delivery"."messageId" where "delivery"."id" = "queueEntry"."subjectId"), '-') where "kind" = 'delivery';
update "queueEntry" set "podId" = coalesce((select "inbox"."podId" from "inbox" where "inbox"."id" = "queueEntry"."inboxId"), '-') where "kind" = 'delivery';
create index "queueEntry_first" on "queueEntry" ("kind", "state", "podId", "inboxId", "dueAt", "id") where "attempts" = 0;
create index "queueEntry_again" on "queueEntry" ("kind", "state", "dueAt", "id") where "attempts" > 0;
create index "queueEntry_parkedFirst" on "queueEntry" ("kind", "destination", "podId", "inboxId", "dueAt", "id") where "state" = 'parked' and "attempts" = 0;
create index "queueEntry_parkedExpiry" on "queueEntry" ("kind", "expiresAt", "id") where "state" = 'parked';
create table "destination" (
  "name" text primary key,
  "failures" integer not null,
  "isFailing" integer not null,
  "failingSince" text,
  "lastFailure" text,
  "probeAt" text,
  "lookAt" text,
  "updatedAt" text not null
);
create index "destination_lookAt" on "destination" ("isFailing", "lookAt") where "lookAt" is not null;
create index "destination_updatedAt" on "destination" ("updatedAt");
`,
}
