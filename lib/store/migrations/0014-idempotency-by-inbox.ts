import type { Migration } from './migration.ts'

/**
 * A record belongs to the inbox and the key, whatever credential sends. What was noted by the scope of a credential does
 * not say its inbox, lives for a day, and goes.
 */
export const idempotencyByInbox: Migration = {
  number: 14,
  name: 'idempotency-by-inbox',
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
`,
}
