import type { WriteDb } from '../dialect/dialect.ts'
import type { Migration } from './migration.ts'

export const door: Migration = {
  number: 12,
  name: 'door',
  breaking: true,
  sql: `
create table "greylistEntry" (
  "slot" integer primary key,
  "key" text not null,
  "passes" integer not null,
  "firstSeenAt" text not null,
  "expiresAt" text not null
);
create index "greylistEntry_expiresAt" on "greylistEntry" ("expiresAt");
alter table "inbox" add column "isSystem" integer not null default 0;
create index "inbox_system" on "inbox" ("podId", "id") where "isSystem" = 1 and "deletedAt" is null;
`,
  fill: leaveOutSystemInboxes,
}

/** What takes the mail of postmaster was counted among the inboxes. Its name is reserved, so nobody else has it. */
async function leaveOutSystemInboxes(db: WriteDb): Promise<void> {
  const rows = await db
    .selectFrom('inbox')
    .select(['id', 'podId', 'address'])
    .where('address', 'like', 'postmaster@%')
    .where('deletedAt', 'is', null)
    .execute()
  for (const { id, podId, address } of rows) {
    const domain = address.slice(address.lastIndexOf('@') + 1)
    await db.updateTable('inbox').set({ isSystem: 1 }).where('id', '=', id).execute()
    await db
      .updateTable('account')
      .set(eb => ({ inboxCount: eb('inboxCount', '-', 1) }))
      .execute()
    await db
      .updateTable('pod')
      .set(eb => ({ inboxCount: eb('inboxCount', '-', 1) }))
      .where('id', '=', podId)
      .execute()
    await db
      .updateTable('domainUse')
      .set(eb => ({ inboxCount: eb('inboxCount', '-', 1) }))
      .where('domain', '=', domain)
      .where('podId', '=', podId)
      .execute()
  }
}
