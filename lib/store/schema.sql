-- The truth about mailboxd's tables. The migrations must end in exactly this (a test compares them on SQLite and
-- on PostgreSQL). Three column types, nothing else: text, integer (32 bits) and blob. Instants are ISO 8601 text
-- with milliseconds and Z, so they sort; booleans are 0 and 1; JSON is text. Ids are UUID version 7, so they sort
-- by time as well. On PostgreSQL text is collated "C" and blob is bytea (lib/store/dialect.ts).
-- Every list and every look-up that a request can cause names its index here.

-- Which migrations this database has. `breaking` 1: a program that does not know it must not run on it.
create table "migration" (
  "number" integer primary key,
  "name" text not null,
  "breaking" integer not null,
  "appliedAt" text not null
);

-- One row: this installation. Its secret signs attachment URLs; its counters answer `total` without counting.
create table "account" (
  "id" text primary key,
  "signingSecret" text not null,
  "podCount" integer not null,
  "inboxCount" integer not null,
  "createdAt" text not null
);

-- A tenant. Exactly one is the default; it can't be deleted.
create table "pod" (
  "id" text primary key,
  "clientId" text,
  "name" text,
  "isDefault" integer not null,
  "inboxCount" integer not null,
  "createdAt" text not null
);
create unique index "pod_clientId" on "pod" ("clientId");
create index "pod_list" on "pod" ("isDefault", "id");

-- A mail domain of ours, with its DKIM key. podId null: every pod can use it.
create table "domain" (
  "id" text primary key,
  "domain" text not null,
  "podId" text references "pod" ("id"),
  "selector" text not null,
  "dkimPrivateKey" text not null,
  "dkimPublicKey" text not null,
  "createdAt" text not null
);
create unique index "domain_domain" on "domain" ("domain");
create index "domain_pod" on "domain" ("podId");

-- A mailbox of an agent. `address` is lower-case. A deleted one keeps its row for ever, because its address is
-- never given out again: a late reply must not reach a stranger; `purgedAt` is when its messages were gone. The
-- counters answer `total`.
create table "inbox" (
  "id" text primary key,
  "podId" text not null references "pod" ("id"),
  "address" text not null,
  "displayName" text,
  "inboundCount" integer not null,
  "outboundCount" integer not null,
  "threadCount" integer not null,
  "unreadThreadCount" integer not null,
  "createdAt" text not null,
  "deletedAt" text,
  "purgedAt" text
);
create unique index "inbox_address" on "inbox" ("address");
create index "inbox_list" on "inbox" ("id") where "deletedAt" is null;
create index "inbox_podList" on "inbox" ("podId", "deletedAt", "id");
create index "inbox_purge" on "inbox" ("id") where "deletedAt" is not null and "purgedAt" is null;

-- Who may call. Only the SHA-256 of a token is kept. podId and inboxId null: the whole account; podId alone: the
-- pod; both: the inbox (and podId is its pod).
create table "apiKey" (
  "id" text primary key,
  "name" text,
  "podId" text references "pod" ("id"),
  "inboxId" text references "inbox" ("id"),
  "tokenHash" text not null,
  "tokenPrefix" text not null,
  "last4" text not null,
  "createdAt" text not null,
  "lastUsedAt" text,
  "revokedAt" text
);
create unique index "apiKey_tokenHash" on "apiKey" ("tokenHash");
create index "apiKey_scope" on "apiKey" ("podId", "inboxId", "revokedAt", "id");
create index "apiKey_inbox" on "apiKey" ("inboxId");

-- The bytes of a message exactly as they crossed the wire, shared by all messages that arrived in one transaction.
-- Up to 256 KiB they are `content`; larger ones are the file of this id below data_dir/raw and content is null.
create table "raw" (
  "id" text primary key,
  "sizeBytes" integer not null,
  "content" blob,
  "createdAt" text not null
);

create table "thread" (
  "id" text primary key,
  "inboxId" text not null references "inbox" ("id"),
  "subject" text not null,
  "isRead" integer not null,
  "messageCount" integer not null,
  "lastMessageAt" text not null,
  "createdAt" text not null
);
create index "thread_list" on "thread" ("inboxId", "lastMessageAt", "id");
create index "thread_readList" on "thread" ("inboxId", "isRead", "lastMessageAt", "id");

-- One message in one inbox. `toAddr` inbound is the inbox; `headerTo` is whom the sender wrote to. JSON: references,
-- cc, bcc (lists of text), addressNames (address to name), attachments ({filename, contentType, sizeBytes}; the
-- bytes are read out of the raw, never stored twice), authentication ({spf, dkim, dmarc}).
-- `trace` is the Return-Path and Received fields that RFC 5321 §4.4 has us add; the raw stays as it came.
create table "message" (
  "id" text primary key,
  "inboxId" text not null references "inbox" ("id"),
  "threadId" text not null references "thread" ("id"),
  "direction" text not null,
  "status" text not null,
  "rawId" text references "raw" ("id"),
  "rfcMessageId" text,
  "inReplyTo" text,
  "references" text not null,
  "mailFrom" text not null,
  "trace" text not null,
  "fromAddr" text not null,
  "toAddr" text not null,
  "headerTo" text,
  "deliveryRole" text,
  "replyTo" text,
  "cc" text not null,
  "bcc" text not null,
  "addressNames" text,
  "subject" text not null,
  "bodyText" text not null,
  "bodyHtml" text not null,
  "attachments" text not null,
  "category" text not null,
  "autoReplyable" integer not null,
  "verdict" text not null,
  "authentication" text not null,
  "createdAt" text not null
);
create index "message_list" on "message" ("inboxId", "id");
create index "message_directionList" on "message" ("inboxId", "direction", "id");
create index "message_thread" on "message" ("threadId", "id");
create index "message_rfcMessageId" on "message" ("inboxId", "rfcMessageId");
create index "message_raw" on "message" ("rawId");

-- One outbound message to one recipient: queued, deferred, delivered, failed, held or cancelled; with what the
-- other side said last. `captured` 1: kept on this machine instead of sent (delivery.mode = "capture").
create table "delivery" (
  "id" text primary key,
  "messageId" text not null references "message" ("id"),
  "recipient" text not null,
  "state" text not null,
  "captured" integer not null,
  "attempts" integer not null,
  "replyCode" integer,
  "replyEnhanced" text,
  "replyText" text,
  "remoteHost" text,
  "nextAttemptAt" text,
  "createdAt" text not null,
  "updatedAt" text not null
);
create index "delivery_message" on "delivery" ("messageId", "id");
create index "delivery_pending" on "delivery" ("messageId") where "state" in ('queued', 'deferred', 'held');

-- Every try of a delivery, as the courier saw it.
create table "attempt" (
  "id" text primary key,
  "deliveryId" text not null references "delivery" ("id"),
  "result" text not null,
  "replyCode" integer,
  "replyEnhanced" text,
  "replyText" text not null,
  "remoteHost" text,
  "remoteAddress" text,
  "tls" text,
  "durationMs" integer not null,
  "createdAt" text not null
);
create index "attempt_delivery" on "attempt" ("deliveryId", "id");

-- What is to be done and when: `subjectId` is the delivery (kind "delivery"), `destination` what concurrency is
-- counted by. The claim counts the attempt and moves `dueAt` beyond the lease before the network is touched, so a
-- crash can't hammer a peer; only the holder of the lease may finish. state: ready or held.
create table "queueEntry" (
  "id" text primary key,
  "kind" text not null,
  "subjectId" text not null,
  "destination" text not null,
  "state" text not null,
  "dueAt" text not null,
  "expiresAt" text not null,
  "attempts" integer not null,
  "leasedBy" text,
  "leasedUntil" text,
  "createdAt" text not null
);
create index "queueEntry_due" on "queueEntry" ("kind", "state", "dueAt");
create index "queueEntry_subject" on "queueEntry" ("subjectId");
create index "queueEntry_leased" on "queueEntry" ("leasedBy") where "leasedBy" is not null;

-- What happened, in order of id, written in the transaction of what it tells. `payload` is JSON.
create table "event" (
  "id" text primary key,
  "type" text not null,
  "podId" text,
  "inboxId" text,
  "threadId" text,
  "messageId" text,
  "payload" text not null,
  "createdAt" text not null
);
create index "event_createdAt" on "event" ("createdAt");

-- The final answers of sends, by the caller's Idempotency-Key, for 24 hours. `scope` is the account or the pod of a
-- scoped key, so that two tenants may use the same key.
create table "idempotency" (
  "scope" text not null,
  "key" text not null,
  "requestHash" text not null,
  "status" integer not null,
  "body" text not null,
  "createdAt" text not null,
  primary key ("scope", "key")
);
create index "idempotency_createdAt" on "idempotency" ("createdAt");
