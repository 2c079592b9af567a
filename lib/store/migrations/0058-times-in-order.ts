import type { Migration } from './migration.ts'

/** Messages of an inbox are dated in the order in which they are committed, whatever the clocks of the nodes say. */
export const timesInOrder: Migration = {
  number: 58,
  name: 'times-in-order',
  breaking: false,
  sql: `
alter table "inbox" add column "lastMessageMs" text;
`,
}
