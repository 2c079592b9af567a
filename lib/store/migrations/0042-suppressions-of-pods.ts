import type { Migration } from './migration.ts'

/**
 * What came back by mail keeps an address from being written to by the pod whose delivery it names, and by no other: anybody
 * may write such mail. What stands there already holds for all, as it did.
 */
export const suppressionsOfPods: Migration = {
  number: 42,
  name: 'suppressions-of-pods',
  breaking: true,
  sql: `
create table "suppressionBefore" as select * from "suppression";
drop table "suppression";
create table "suppression" (
  "recipient" text not null,
  "podId" text not null,
  "reason" text not null,
  "evidence" text,
  "messageId" text,
  "createdAt" text not null,
  "expiresAt" text,
  primary key ("recipient", "podId")
);
insert into "suppression" ("recipient", "podId", "reason", "evidence", "messageId", "createdAt", "expiresAt")
  select "recipient", '', "reason", "evidence", "messageId", "createdAt", "expiresAt" from "suppressionBefore";
drop table "suppressionBefore";
create index "suppression_list" on "suppression" ("createdAt", "recipient", "podId", "reason", "expiresAt");
create index "suppression_expiresAt" on "suppression" ("expiresAt") where "expiresAt" is not null;
create index "suppression_podId" on "suppression" ("podId");
`,
}
