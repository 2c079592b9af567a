import type { Migration } from './migration.ts'

/** Events get their places after the commit, where many write at once. */
export const unplacedEvents: Migration = {
  number: 50,
  name: 'unplaced-events',
  breaking: false,
  sql: `
-- only on postgres
create table "unplaced" (
  "number" bigint generated always as identity primary key,
  "event" text not null,
  "call" text
);
-- end only
`,
}
