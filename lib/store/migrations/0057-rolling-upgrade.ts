import type { Migration } from './migration.ts'

/** Nodes of two versions work on one database during an upgrade, and each says how it is set. */
export const rollingUpgrade: Migration = {
  number: 57,
  name: 'rolling-upgrade',
  breaking: false,
  sql: `
alter table "migration" add column "unusedSince" integer;
alter table "node" add column "settings" text;
`,
}
