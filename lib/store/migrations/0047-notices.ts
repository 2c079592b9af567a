import type { Migration } from './migration.ts'

/** Who submits mail by SMTP may ask to be told what became of it (RFC 3461). */
export const notices: Migration = {
  number: 47,
  name: 'notices',
  breaking: false,
  sql: `
alter table "delivery" add column "notify" text;
`,
}
