import type { Migration } from './migration.ts'

export const suppressions: Migration = {
  number: 4,
  name: 'suppressions',
  breaking: true,
  sql: `
create table "suppression" (
  "recipient" text primary key,
  "reason" text not null,
  "evidence" text,
  "messageId" text,
  "createdAt" text not null,
  "expiresAt" text
);
create index "suppression_list" on "suppression" ("createdAt", "recipient", "reason", "expiresAt");
create index "suppression_expiresAt" on "suppression" ("expiresAt") where "expiresAt" is not null;
`,
}
