import type { Migration } from './migration.ts'

export const policy: Migration = {
  number: 3,
  name: 'policy',
  breaking: true,
  sql: `
create table "policyMode" (
  "scope" text not null,
  "direction" text not null,
  "mode" text not null,
  primary key ("scope", "direction")
);
create table "policyRule" (
  "id" text primary key,
  "scope" text not null,
  "direction" text not null,
  "type" text not null,
  "value" text not null,
  "createdAt" text not null
);
create unique index "policyRule_value" on "policyRule" ("scope", "direction", "value", "type");
create table "policyAudit" (
  "id" text primary key,
  "podId" text,
  "inboxId" text,
  "action" text not null,
  "direction" text not null,
  "mode" text,
  "type" text,
  "value" text,
  "ruleId" text,
  "address" text,
  "reason" text,
  "keyId" text,
  "createdAt" text not null
);
create index "policyAudit_list" on "policyAudit" ("createdAt", "id", "action", "direction");
create index "policyAudit_podList" on "policyAudit" ("podId", "createdAt", "id", "action", "direction");
create index "policyAudit_inboxList" on "policyAudit" ("inboxId", "createdAt", "id", "action", "direction");
`,
}
