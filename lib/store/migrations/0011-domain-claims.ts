import type { Migration } from './migration.ts'

/**
 * Several pods may add one domain, each once (the account itself is the pod ''). Who was verified has the name, alone.
 */
export const domainClaims: Migration = {
  number: 11,
  name: 'domain-claims',
  breaking: true,
  sql: `
drop index "domain_domain";
create unique index "domain_domain" on "domain" ("domain", coalesce("podId", ''));
create unique index "domain_claim" on "domain" ("domain") where "verifiedAt" is not null;
alter table "domain" add column "problem" text;
alter table "domain" add column "found" text not null default '{}';
`,
}
