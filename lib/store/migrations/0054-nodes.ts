import type { Migration } from './migration.ts'

/** Several daemons may work on one database: each is known, and what it leases is its own as long as it lives. */
export const nodes: Migration = {
  number: 54,
  name: 'nodes',
  breaking: false,
  sql: `
create table "node" (
  "id" text primary key,
  "generation" integer not null,
  "name" text not null,
  "version" text not null,
  "blobs" text not null,
  "bucketOwner" text,
  "state" text not null,
  "isDraining" integer not null,
  "beat" integer not null,
  "startedAt" text not null,
  "beatAt" text not null
);
create table "sweep" (
  "name" text primary key,
  "heldBy" text
);
create table "reader" (
  "holder" text not null,
  "podId" text not null,
  "inboxId" text not null,
  "type" text not null,
  primary key ("holder", "podId", "inboxId", "type")
);
create index "reader_inbox" on "reader" ("inboxId", "type", "podId", "holder");
`,
}
