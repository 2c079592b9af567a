import type { Migration } from './migration.ts'

/** What the operator holds by inbox, pod or domain is held with all that comes new. */
export const standingHolds: Migration = {
  number: 48,
  name: 'standing-holds',
  breaking: false,
  sql: `
create table "standingHold" (
  "id" text primary key,
  "inboxId" text,
  "podId" text,
  "domain" text,
  "createdAt" text not null
);
`,
}
