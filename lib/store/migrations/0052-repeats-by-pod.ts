import type { Migration } from './migration.ts'

/** What is repeated begins in turns of pods, as what is new does. */
export const repeatsByPod: Migration = {
  number: 52,
  name: 'repeats-by-pod',
  breaking: false,
  sql: `
create index "queueEntry_againOfPod" on "queueEntry" ("kind", "state", "podId", "dueAt", "id") where "attempts" > 0;
create index "queueEntry_parkedAgain" on "queueEntry" ("kind", "destination", "podId", "dueAt", "id") where "state" = 'parked' and "attempts" > 0;
`,
}
