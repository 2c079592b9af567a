import type { Migration } from './migration.ts'

/** How many TLS reports go to an address in a day is bounded. */
export const reportCounts: Migration = {
  number: 53,
  name: 'report-counts',
  breaking: false,
  sql: `
create index "delivery_report" on "delivery" ("createdAt", "recipient") where "purpose" = 'report';
`,
}
