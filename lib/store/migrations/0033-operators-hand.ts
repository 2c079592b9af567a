import type { Migration } from './migration.ts'

/** Who holds a delivery, so that an inbox that goes on releases what it held and no more; addresses as they were written. */
export const operatorsHand: Migration = {
  number: 33,
  name: 'operators-hand',
  breaking: false,
  sql: `
alter table "delivery" add column "heldBy" text;
alter table "delivery" add column "rcptTo" text;
`,
}
