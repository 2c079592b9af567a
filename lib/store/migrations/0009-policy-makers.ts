import type { Migration } from './migration.ts'

export const policyMakers: Migration = {
  number: 9,
  name: 'policy-makers',
  breaking: true,
  sql: `
alter table "policyMode" add column "isTenants" integer not null default 0;
alter table "policyRule" add column "isTenants" integer not null default 0;
`,
}
