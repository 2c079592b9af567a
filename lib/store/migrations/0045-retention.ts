import type { Migration } from './migration.ts'

/** Messages of a category are found by their age, and what was deleted leaves the search index when it is a fiftieth of a segment. */
export const retention: Migration = {
  number: 45,
  name: 'retention',
  breaking: false,
  sql: `
create index "message_category" on "message" ("inboxId", "category", "id");
-- only on sqlite
insert into "messageSearch" ("messageSearch", "rank") values ('deletemerge', 2);
-- end only
`,
}
