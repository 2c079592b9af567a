import type { Migration } from './migration.ts'

export const eventDelivery: Migration = {
  number: 8,
  name: 'event-delivery',
  breaking: true,
  sql: `
alter table "account" add column "webhookUrl" text;
alter table "account" add column "webhookSecret" text;
alter table "account" add column "healthAt" text;
create table "member" (
  "address" text primary key,
  "name" text,
  "createdAt" text not null
);
alter table "inbox" add column "webhookUrl" text;
alter table "inbox" add column "webhookSecret" text;
alter table "inbox" add column "forwardTo" text;
alter table "inbox" add column "forwardWhen" text;
alter table "inbox" add column "forwardStatus" text;
alter table "inbox" add column "forwardFailures" integer not null default 0;
alter table "inbox" add column "suspendedAt" text;
alter table "inbox" add column "suspendedReason" text;
alter table "delivery" add column "purpose" text not null default 'send';
alter table "delivery" add column "mailFrom" text;
create index "delivery_mailFrom" on "delivery" ("mailFrom", "id") where "mailFrom" is not null;
drop index "queueEntry_due";
create index "queueEntry_due" on "queueEntry" ("kind", "state", "dueAt", "id");
create index "queueEntry_parked" on "queueEntry" ("kind", "destination", "dueAt", "id") where "state" = 'parked';
create table "webhookDelivery" (
  "id" text primary key,
  "eventId" text not null references "event" ("id"),
  "inboxId" text,
  "state" text not null,
  "attempts" integer not null,
  "url" text not null,
  "status" integer,
  "error" text,
  "nextAttemptAt" text,
  "createdAt" text not null,
  "updatedAt" text not null
);
create index "webhookDelivery_event" on "webhookDelivery" ("eventId", "id");
create table "webhookAttempt" (
  "id" text primary key,
  "webhookDeliveryId" text not null references "webhookDelivery" ("id"),
  "url" text not null,
  "status" integer,
  "answer" text,
  "error" text,
  "durationMs" integer not null,
  "createdAt" text not null
);
create index "webhookAttempt_delivery" on "webhookAttempt" ("webhookDeliveryId", "id");
create table "forwardConfirmation" (
  "id" text primary key,
  "inboxId" text not null references "inbox" ("id"),
  "address" text not null,
  "createdAt" text not null,
  "expiresAt" text not null,
  "usedAt" text
);
create index "forwardConfirmation_createdAt" on "forwardConfirmation" ("createdAt");
create index "forwardConfirmation_address" on "forwardConfirmation" ("address", "createdAt");
create index "forwardConfirmation_inbox" on "forwardConfirmation" ("inboxId", "id");
`,
}
