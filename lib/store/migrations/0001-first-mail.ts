import type { Migration } from './migration.ts'

export const firstMail: Migration = {
  number: 1,
  name: 'first-mail',
  breaking: true,
  sql: `
create table "account" (
  "id" text primary key,
  "signingSecret" text not null,
  "podCount" integer not null,
  "inboxCount" integer not null,
  "createdAt" text not null
);
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
`,
}
