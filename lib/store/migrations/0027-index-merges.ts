import type { Migration } from './migration.ts'

/**
 * FTS5 merges its segments no more in the write that happens to fill one up, which could take seconds: that is done in small
 * steps beside it (lib/core/mailbox/indexing.ts). Where nobody does it, FTS5 merges a level when it has a thousand.
 */
export const indexMerges: Migration = {
  number: 27,
  name: 'index-merges',
  breaking: false,
  sql: `
-- only on sqlite
insert into "messageSearch" ("messageSearch", "rank") values ('automerge', 0);
insert into "messageSearch" ("messageSearch", "rank") values ('crisismerge', 1000);
-- end only
`,
}
