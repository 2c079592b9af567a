import type { Migration } from './migration.ts'

/**
 * An answer to an idempotency key belongs to the inbox and the key; what was noted by the scope of a credential does not say its
 * inbox, lives for a day, and goes. Several pods may add one domain, each once (the account itself is the pod ''). Who was verified has the name, alone. What
 * a suspended inbox has in the queue is held.
 */
export const tenantsApart: Migration = {
  number: 14,
  name: 'tenants-apart',
  breaking: true,
  sql: `
drop table "idempotency";
create table "idempotency" (
  "inboxId" text not null,
  "key" text not null,
  "podId" text not null,
  "requestHash" text not null,
  "status" integer not null,
  "body" text not null,
  "createdAt" text not null,
  primary key ("inboxId", "key")
);
create index "idempotency_createdAt" on "idempotency" ("createdAt");
create index "idempotency_key" on "idempotency" ("key", "podId");
drop index "domain_domain";
create unique index "domain_domain" on "domain" ("domain", coalesce("podId", ''));
create unique index "domain_claim" on "domain" ("domain") where "verifiedAt" is not null;
alter table "domain" add column "problem" text;
alter table "domain" add column "found" text not null default '{}';
alter table "inbox" add column "hasHeld" integer not null default 0;
create index "inbox_held" on "inbox" ("id") where "hasHeld" = 1;
create index "message_pending" on "message" ("inboxId", "id") where "status" = 'pending';
`,
}
