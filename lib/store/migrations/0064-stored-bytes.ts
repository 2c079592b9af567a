import type { Migration } from './migration.ts'

/** The size of what each inbox keeps, for `storage.inbox_bytes` and `storage.pod_bytes`. */
export const storedBytes: Migration = {
  number: 64,
  name: 'stored-bytes',
  breaking: false,
  sql: `
alter table "inbox" add column "storedKiB" integer not null default 0;
update "inbox" set "storedKiB" = (
  select coalesce(sum((raw."sizeBytes" + 1023) / 1024), 0)
  from "message" message join "raw" raw on raw."id" = message."rawId"
  where message."inboxId" = "inbox"."id"
) + (
  select coalesce(sum((attachment."sizeBytes" + 1023) / 1024), 0)
  from "draft" draft join "draftAttachment" attachment on attachment."draftId" = draft."id"
  where draft."inboxId" = "inbox"."id" and draft."status" != 'sent'
);
`,
}
