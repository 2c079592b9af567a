import type { Migration } from './migration.ts'

/** What other domains ask of TLS (MTA-STS) is kept, and how TLS with them went is counted (TLS-RPT). */
export const tlsPolicies: Migration = {
  number: 38,
  name: 'tls-policies',
  breaking: false,
  sql: `
create table "stsPolicy" (
  "domain" text primary key,
  "policyId" text not null,
  "mode" text not null,
  "mx" text not null,
  "maxAgeSeconds" integer not null,
  "fetchedAt" text not null,
  "expiresAt" text not null
);
create index "stsPolicy_expiresAt" on "stsPolicy" ("expiresAt");
create table "tlsResult" (
  "day" text not null,
  "domain" text not null,
  "policyType" text not null,
  "type" text not null,
  "host" text not null,
  "count" integer not null,
  "reportedAt" text,
  primary key ("day", "domain", "policyType", "type", "host")
);
create index "tlsResult_unreported" on "tlsResult" ("day", "domain") where "reportedAt" is null;
`,
}
