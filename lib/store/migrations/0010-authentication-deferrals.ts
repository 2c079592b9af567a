import type { Migration } from './migration.ts'

export const authenticationDeferrals: Migration = {
  number: 10,
  name: 'authentication-deferrals',
  breaking: false,
  sql: `
create table "authenticationDeferral" (
  "id" text primary key,
  "network" text not null,
  "firstAt" text not null
);
create index "authenticationDeferral_network" on "authenticationDeferral" ("network");
create index "authenticationDeferral_firstAt" on "authenticationDeferral" ("firstAt");
`,
}
