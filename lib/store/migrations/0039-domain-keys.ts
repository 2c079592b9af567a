import type { Migration } from './migration.ts'

/** A domain can have further DKIM keys: Ed25519 beside RSA, one that is to follow, and those that were before. */
export const domainKeys: Migration = {
  number: 39,
  name: 'domain-keys',
  breaking: true,
  sql: `
alter table "domain" add column "dkimSince" text not null default '';
update "domain" set "dkimSince" = "createdAt";
create index "domain_dkimSince" on "domain" ("dkimSince");
create table "domainKey" (
  "id" text primary key,
  "domainId" text not null,
  "selector" text not null,
  "algorithm" text not null,
  "privateKey" text,
  "publicKey" text not null,
  "state" text not null,
  "recordStatus" text not null,
  "found" text not null,
  "createdAt" text not null,
  "endsAt" text
);
create unique index "domainKey_selector" on "domainKey" ("domainId", "selector");
create index "domainKey_endsAt" on "domainKey" ("endsAt") where "endsAt" is not null;
`,
}
