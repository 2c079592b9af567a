import { sql } from 'kysely'
import { type Db, dialectOf, withOwnSections } from './dialect/dialect.ts'

/** What holds between rows at every commit. */
export interface Invariant {
  readonly name: string
  /** What is promised, in a sentence. */
  readonly promise: string
  /** Gives `subject`, the id of what breaks it, and `found`, what is there instead. `:since` is the oldest event that is kept for sure. */
  readonly sql: string
}

const waiting = (table: string, kind: string, states: string) => `
  select one."id" as "subject", 'is ' || one."state" || ' and not in the queue' as "found"
  from "${table}" one left join "queueEntry" entry on entry."subjectId" = one."id" and entry."kind" = '${kind}'
  where one."state" in (${states}) and entry."id" is null
  union all
  select one."id", 'is ' || one."state" || ' and in the queue'
  from "${table}" one join "queueEntry" entry on entry."subjectId" = one."id" and entry."kind" = '${kind}'
  where one."state" not in (${states})`

const counter = (name: string, count: string) => `
  select "id" as "subject", '${name} is ' || "${name}" || ', there are ' || "count" as "found" from (
    select inbox."id", inbox."${name}", (${count}) as "count" from "inbox" inbox where inbox."deletedAt" is null
  ) counted where "${name}" != "count"`

/** Of 36 characters with hyphens where a UUID has them, and none that means something in a path or a URL. */
const misnamed = (table: string, column: string) => `
  select "${column}" as "subject", 'is ${column} in ${table}, and has not the form of an id' as "found" from "${table}"
  where "${column}" not like '________-____-____-____-____________' or ltrim("${column}", '0123456789abcdef-') != ''`

/** What names files, and objects in a bucket. */
export const idInvariant: Invariant = {
  name: 'ids',
  promise: 'what names a file has the form of an id, and so leads to no other one',
  sql: [
    misnamed('raw', 'id'),
    misnamed('message', 'rawId'),
    misnamed('draftAttachment', 'id'),
    misnamed('account', 'id'),
  ].join(' union all '),
}

/** All of them. The words of the database are portable, as everywhere. */
export const invariants: readonly Invariant[] = [
  idInvariant,
  {
    name: 'delivery',
    promise: 'every delivery has ended or waits in the queue',
    sql: waiting('delivery', 'delivery', "'queued', 'deferred', 'held'"),
  },
  {
    name: 'event',
    promise: 'every event that a webhook is to be told is told, given up, or waits in the queue',
    sql: waiting('webhookDelivery', 'webhook', "'queued', 'deferred'"),
  },
  {
    name: 'draft',
    promise: 'every scheduled draft waits in the queue, and no other',
    sql: `
  select draft."id" as "subject", 'is scheduled and not in the queue' as "found"
  from "draft" draft left join "queueEntry" entry on entry."subjectId" = draft."id" and entry."kind" = 'draft'
  where draft."status" = 'scheduled' and entry."id" is null
  union all
  select draft."id", 'is ' || draft."status" || ' and in the queue'
  from "draft" draft join "queueEntry" entry on entry."subjectId" = draft."id" and entry."kind" = 'draft'
  where draft."status" != 'scheduled'`,
  },
  {
    name: 'queue',
    promise: 'what waits in the queue is there, and waits once',
    sql: `
  select entry."id" as "subject", 'is of ' || entry."kind" || ' ' || entry."subjectId" || ', which is not there' as "found"
  from "queueEntry" entry
  where not exists (select 1 from "delivery" where "delivery"."id" = entry."subjectId")
    and not exists (select 1 from "webhookDelivery" where "webhookDelivery"."id" = entry."subjectId")
    and not exists (select 1 from "draft" where "draft"."id" = entry."subjectId")
  union all
  select "subjectId", 'is ' || count(*) || ' times in the queue' from "queueEntry" group by "subjectId" having count(*) > 1`,
  },
  {
    name: 'status',
    promise: 'a message is pending as long as a delivery of it has not ended, and not longer',
    sql: `
  select message."id" as "subject", 'is pending and nothing of it is under way' as "found" from "message" message
  where message."status" = 'pending' and not exists (
    select 1 from "delivery" where "delivery"."messageId" = message."id" and "delivery"."state" in ('queued', 'deferred', 'held')
  )`,
  },
  {
    name: 'held',
    // By the mark it is found and goes on when the process that resumed the inbox ended in the middle of it.
    promise: 'an inbox whose mail is held for its suspension is marked as one that has some',
    sql: `
  select inbox."id" as "subject", 'has mail that is held and is not marked' as "found" from "inbox" inbox
  where inbox."hasHeld" = 0 and inbox."deletedAt" is null and exists (
    select 1 from "message" join "delivery" on "delivery"."messageId" = "message"."id"
    where "message"."inboxId" = inbox."id" and "message"."status" = 'pending'
      and "delivery"."state" = 'held' and "delivery"."heldBy" is null
  )`,
  },
  {
    name: 'received',
    // Whether agents are told of malicious mail is a setting.
    promise: 'every message that came and is not malicious has its event, as long as events are kept',
    sql: `
  select message."id" as "subject", 'has no event message.received' as "found" from "message" message
  where message."direction" = 'inbound' and message."verdict" != 'malicious' and message."createdAt" >= :since and message."id" not in (
    select "messageId" from "event" where "type" = 'message.received' and "messageId" is not null
-- only on postgres
    union all select "event"::json ->> 'messageId' from "unplaced"
    where "event"::json ->> 'type' = 'message.received' and "event"::json ->> 'messageId' is not null
-- end only
  )`,
  },
  {
    name: 'inbound',
    promise: 'an inbox counts the messages that came',
    sql: counter(
      'inboundCount',
      `select count(*) from "message" where "message"."inboxId" = inbox."id" and "message"."direction" = 'inbound'`,
    ),
  },
  {
    name: 'outbound',
    promise: 'an inbox counts the messages that it sent',
    sql: counter(
      'outboundCount',
      `select count(*) from "message" where "message"."inboxId" = inbox."id" and "message"."direction" = 'outbound'`,
    ),
  },
  {
    name: 'threads',
    promise: 'an inbox counts its threads',
    sql: counter('threadCount', `select count(*) from "thread" where "thread"."inboxId" = inbox."id"`),
  },
  {
    name: 'unread',
    promise: 'an inbox counts its unread threads',
    sql: counter(
      'unreadThreadCount',
      `select count(*) from "thread" where "thread"."inboxId" = inbox."id" and "thread"."isRead" = 0`,
    ),
  },
  {
    name: 'storage',
    promise: 'an inbox counts the size of its messages and drafts',
    sql: counter(
      'storedKiB',
      `select coalesce(sum("kib"), 0) from (
        select (raw."sizeBytes" + 1023) / 1024 as "kib" from "message" message join "raw" raw on raw."id" = message."rawId"
        where message."inboxId" = inbox."id"
        union all
        select (attachment."sizeBytes" + 1023) / 1024 from "draft" draft join "draftAttachment" attachment on attachment."draftId" = draft."id"
        where draft."inboxId" = inbox."id" and draft."status" != 'sent'
        union all
        select (coalesce(octet_length(draft."body"), 0) + coalesce(octet_length(draft."bodyHtml"), 0) + 1023) / 1024 from "draft" draft
        where draft."inboxId" = inbox."id"
      ) sizes`,
    ),
  },
  {
    name: 'thread',
    promise: 'a thread counts its messages, which are in its inbox, and has at least one',
    sql: `
  select "id" as "subject", 'messageCount is ' || "messageCount" || ', there are ' || "count" as "found" from (
    select thread."id", thread."messageCount",
      (select count(*) from "message" where "message"."threadId" = thread."id") as "count"
    from "thread" thread join "inbox" inbox on inbox."id" = thread."inboxId" and inbox."deletedAt" is null
  ) counted where "messageCount" != "count" or "count" = 0
  union all
  select message."id", 'is in another inbox than its thread ' || thread."id"
  from "message" message join "thread" thread on thread."id" = message."threadId"
  where message."inboxId" != thread."inboxId"`,
  },
  {
    name: 'pods',
    promise: 'pods and account count their inboxes, and the account its pods, of which one is the default',
    sql: `
  select "id" as "subject", 'inboxCount is ' || "inboxCount" || ', there are ' || "count" as "found" from (
    select pod."id", pod."inboxCount",
      (select count(*) from "inbox" where "inbox"."podId" = pod."id" and "deletedAt" is null and "isSystem" = 0) as "count"
    from "pod" pod
  ) counted where "inboxCount" != "count"
  union all
  select "id", 'inboxCount is ' || "inboxCount" || ', podCount ' || "podCount" || ', there are ' || "inboxes" || ' and ' || "pods" from (
    select account."id", account."inboxCount", account."podCount",
      (select count(*) from "inbox" where "deletedAt" is null and "isSystem" = 0) as "inboxes",
      (select count(*) from "pod") as "pods"
    from "account" account
  ) counted where "inboxCount" != "inboxes" or "podCount" != "pods"
  union all
  select 'account', 'has ' || count(*) || ' default pods' from "pod" where "isDefault" = 1 having count(*) != 1`,
  },
  {
    name: 'domains',
    promise: 'how many inboxes of a pod use a domain is counted',
    sql: `
  select "domainUse"."domain" as "subject", 'is used by ' || "inboxCount" || ' inboxes of pod ' || "podId" || ', there are others' as "found"
  from "domainUse" where "inboxCount" != (
    select count(*) from "inbox" where "inbox"."podId" = "domainUse"."podId" and "deletedAt" is null
      and substr("address", length("address") - length("domainUse"."domain")) = '@' || "domainUse"."domain"
  )`,
  },
  {
    name: 'usage',
    promise: 'what an inbox did on a day is counted, if more of it was not deleted since',
    sql: `
  select message."inboxId" as "subject", 'did more on ' || substr(message."createdAt", 1, 10) || ' than was counted' as "found"
  from "message" message
  join "inbox" inbox on inbox."id" = message."inboxId" and inbox."isSystem" = 0 and inbox."deletedAt" is null
  left join "dailyUsage" counted on counted."inboxId" = message."inboxId" and counted."day" = substr(message."createdAt", 1, 10)
  group by message."inboxId", substr(message."createdAt", 1, 10), counted."inbound", counted."outbound"
  having sum(case when message."direction" = 'inbound' then 1 else 0 end) > coalesce(counted."inbound", 0)
    or sum(case when message."direction" = 'outbound' then 1 else 0 end) > coalesce(counted."outbound", 0)`,
  },
  {
    name: 'raw',
    // A question whether somebody agrees to forwarding is made anew for each attempt, and is not kept.
    promise: 'every message that came has its bytes, all of them, and no bytes are kept without a message',
    sql: `
  select message."id" as "subject", 'has no raw' as "found" from "message" message
  where (message."rawId" is null and message."direction" = 'inbound')
    or (message."rawId" is not null and not exists (select 1 from "raw" where "raw"."id" = message."rawId"))
  union all
  select "id", 'is of no message' from "raw" where not exists (select 1 from "message" where "message"."rawId" = "raw"."id")
  union all
  select "id", 'is to have ' || "sizeBytes" || ' bytes, has ' || octet_length("content") from "raw"
  where "content" is not null and octet_length("content") != "sizeBytes"`,
  },
  {
    name: 'reading',
    promise: 'every message has what it says, and nothing is kept without a message',
    sql: `
  select message."id" as "subject", 'has no reading' as "found" from "message" message
  where not exists (select 1 from "reading" where "reading"."id" = message."readingId")
  union all
  select "id", 'is of no message' from "reading" where not exists (select 1 from "message" where "message"."readingId" = "reading"."id")`,
  },
  {
    name: 'search',
    promise:
      'every message can be found, or is noted as to be indexed, and no words are kept of what was deleted',
    sql: `
  select message."id" as "subject", 'can not be found' as "found" from "message" message
  where message."id" not in (select "messageId" from "messageSearch")
    and message."id" not in (select "messageId" from "unindexedBody")
  union all
  select "messageId", 'is found and not there' from "messageSearch" where "messageId" not in (select "id" from "message")`,
  },
  {
    name: 'purged',
    promise: 'of an inbox that was purged nothing is left',
    sql: `
  select inbox."id" as "subject", 'was purged and has messages' as "found" from "inbox" inbox
  where inbox."purgedAt" is not null and exists (select 1 from "message" where "message"."inboxId" = inbox."id")`,
  },
]

/** One row that breaks an invariant. */
export interface Broken {
  readonly subject: string
  readonly found: string
}

/**
 * The rows that break one, at most `limit`.
 * @param since from when on events are kept for sure, an instant
 */
export async function findBroken(
  db: Db,
  { sql: script }: Invariant,
  since: string,
  limit: number,
): Promise<Broken[]> {
  const [before, after] = withOwnSections(dialectOf(db), script).split(':since')
  const query =
    after === undefined ? sql`${sql.raw(before!)}` : sql`${sql.raw(before!)}${since}${sql.raw(after)}`
  const { rows } = await sql<Broken>`select "subject", "found" from (${query}) broken limit ${limit}`.execute(
    db,
  )
  return rows
}
