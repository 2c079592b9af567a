import type { Migration } from './migration.ts'

/** What a CA gives and asks is that of all nodes which order the same certificate. */
export const sharedCertificates: Migration = {
  number: 59,
  name: 'shared-certificates',
  breaking: false,
  sql: `
create table "acmeFile" (
  "id" text primary key,
  "content" text not null,
  "changedAt" text not null
);
create table "acmeChallenge" (
  "token" text primary key,
  "keyAuthorization" text not null,
  "createdAt" text not null
);
`,
}
