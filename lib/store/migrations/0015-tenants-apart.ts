import type { Migration } from './migration.ts'

/**
 * Several pods may add one domain, each once (the account itself is the pod ''). Who was verified has the name, alone. What
 * a suspended inbox has in the queue is held.
 */
export const tenantsApart: Migration = {
  number: 15,
  name: 'tenants-apart',
  breaking: true,
  sql: `
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
