import type { WriteDb } from '../dialect/dialect.ts'
import type { Migration } from './migration.ts'

export const domains: Migration = {
  number: 2,
  name: 'domains',
  // A program that does not know it would not count the inboxes of a domain.
  breaking: true,
  sql: `
alter table "domain" add column "status" text not null default 'pending';
alter table "domain" add column "recordStatuses" text not null default '{}';
alter table "domain" add column "warnings" text not null default '[]';
alter table "domain" add column "losses" integer not null default 0;
alter table "domain" add column "verifiedAt" text;
alter table "domain" add column "updatedAt" text not null default '';
alter table "domain" add column "checkedAt" text;
alter table "domain" add column "checkingSince" text not null default '';
alter table "domain" add column "checkingUntil" text;
alter table "domain" add column "nextCheckAt" text;
update "domain" set "updatedAt" = "createdAt", "checkingSince" = "createdAt";
drop index "domain_pod";
create index "domain_podList" on "domain" ("podId", "id");
create index "domain_check" on "domain" ("nextCheckAt") where "nextCheckAt" is not null;
create table "domainUse" (
  "domain" text not null,
  "podId" text not null,
  "inboxCount" integer not null,
  primary key ("domain", "podId")
);
`,
  fill: countInboxes,
}

/** Of inboxes that came before; an installation of the first version has few. */
async function countInboxes(db: WriteDb): Promise<void> {
  const counts = new Map<string, { domain: string; podId: string; inboxCount: number }>()
  const inboxes = await db
    .selectFrom('inbox')
    .select(['address', 'podId'])
    .where('deletedAt', 'is', null)
    .execute()
  for (const { address, podId } of inboxes) {
    const domain = address.slice(address.lastIndexOf('@') + 1)
    const use = counts.get(`${domain} ${podId}`) ?? { domain, podId, inboxCount: 0 }
    counts.set(`${domain} ${podId}`, { ...use, inboxCount: use.inboxCount + 1 })
  }
  for (const use of counts.values()) await db.insertInto('domainUse').values(use).execute()
}
