-- The first step of the schema (lib/store/migrations/0001-schema.ts). It can change until the first release; from
-- then on a change is a further step. Three column types, nothing else: text, integer (32 bits) and blob. Instants are
-- ISO 8601 text with milliseconds and Z, so they sort; booleans are 0 and 1; JSON is text. Ids are UUID version 7, so
-- they sort by time as well. On PostgreSQL text is collated "C" and blob is bytea (lib/store/dialect/dialect.ts).
-- Every list and every look-up that a request can cause names its index here.

-- The steps that were applied to this database. A program that does not know a step with `breaking` 1 must not run on it,
-- unless it knows the step `unusedSince`: since that step no program uses what this one removed.
create table "migration" (
  "number" integer primary key,
  "name" text not null,
  "breaking" integer not null,
  "appliedAt" text not null,
  "unusedSince" integer
);

-- The id of the key that the secrets in this database are sealed under (lib/store/secrets.ts lists their columns). The key
-- itself is a file of the data directory.
create table "secretKey" (
  "id" text primary key,
  "createdAt" text not null
);

-- One row: this installation. Its secret signs attachment URLs; its counters answer `total` without counting. Its
-- webhook is called for what happens where no inbox has one of its own. `healthAt` is when the database was last written
-- only to see that it can be.
create table "account" (
  "id" text primary key,
  "signingSecret" text not null,
  "podCount" integer not null,
  "inboxCount" integer not null,
  "createdAt" text not null,
  "webhookUrl" text,
  "webhookSecret" text,
  "healthAt" text
);

-- Somebody of the organisation: mail may be forwarded to this address (lower-case) without asking.
create table "member" (
  "address" text primary key,
  "name" text,
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

-- A mail domain of ours, with its DKIM key. podId null: every pod can use it. `status` is pending, verified, failed or
-- under_review; a check is under way until `checkingUntil` (and shown as verifying). JSON: recordStatuses (purpose to
-- missing, invalid or valid), found (purpose to what stands in DNS instead), warnings. `losses` counts checks in a row that
-- found a verified domain without its records. `checkingSince` is when the gaps between checks began to grow, `nextCheckAt`
-- null: not checked by itself. Several pods may have added one name, each once. Whose row has a `verifiedAt` has the
-- name, alone, until another is verified after this one has failed. `problem` domain_taken: another has it. Its RSA key signs
-- since dkimSince.
create table "domain" (
  "id" text primary key,
  "domain" text not null,
  "podId" text references "pod" ("id"),
  "selector" text not null,
  "dkimPrivateKey" text not null,
  "dkimPublicKey" text not null,
  "createdAt" text not null,
  "status" text not null default 'pending',
  "recordStatuses" text not null default '{}',
  "warnings" text not null default '[]',
  "losses" integer not null default 0,
  "verifiedAt" text,
  "updatedAt" text not null default '',
  "checkedAt" text,
  "checkingSince" text not null default '',
  "checkingUntil" text,
  "nextCheckAt" text,
  "problem" text,
  "found" text not null default '{}',
  "dkimSince" text not null default ''
);
create unique index "domain_domain" on "domain" ("domain", coalesce("podId", ''));
create unique index "domain_claim" on "domain" ("domain") where "verifiedAt" is not null;
create index "domain_podList" on "domain" ("podId", "id");
create index "domain_dkimSince" on "domain" ("dkimSince");
create index "domain_check" on "domain" ("nextCheckAt") where "nextCheckAt" is not null;

-- The DKIM keys of a domain beside the RSA key in its row (lib/core/domains/keys.ts). state next: its record is awaited; used: it
-- signs, too (Ed25519); previous: it signed until another took its place, its private key is gone, and at endsAt the row goes.
-- recordStatus and found are as of the last check.
create table "domainKey" (
  "id" text primary key,
  "domainId" text not null,
  "selector" text not null,
  "algorithm" text not null,
  "privateKey" text,
  "publicKey" text not null,
  "state" text not null,
  "recordStatus" text not null,
  "found" text not null,
  "createdAt" text not null,
  "endsAt" text
);
create unique index "domainKey_selector" on "domainKey" ("domainId", "selector");
create index "domainKey_endsAt" on "domainKey" ("endsAt") where "endsAt" is not null;

-- How many inboxes of a pod use a domain; moves in the same write as they do. Without a row: none do.
create table "domainUse" (
  "domain" text not null,
  "podId" text not null,
  "inboxCount" integer not null,
  primary key ("domain", "podId")
);

-- A mailbox of an agent. `address` is lower-case. A deleted one keeps its row for ever, because its address is
-- never given out again: a late reply must not reach a stranger; `purgedAt` is when its messages were gone. The
-- counters answer `total`. While `suspendedAt` is set it receives and does not send; `hasHeld` 1: deliveries of it may be held. forwardWhen is always, needs_human
-- or webhook_failed, forwardStatus pending, active or disabled; `forwardFailures` counts hard bounces in a row.
-- isSystem: it takes the mail of postmaster and abuse, and no list or counter of inboxes has it unless asked.
-- `clientId` is the caller's own name for it, `creationHash` the SHA-256 of what it was asked for with; a deleted one has neither.
-- `lastMessageMs`: `createdAt` of the message that was committed last, in milliseconds since 1970 (text, for an integer has 32 bits);
-- the next one is later. `storedKiB`: the raws of its messages and the attachments of its unsent drafts, each rounded up
-- to KiB.
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
  "purgedAt" text,
  "webhookUrl" text,
  "webhookSecret" text,
  "forwardTo" text,
  "forwardWhen" text,
  "forwardStatus" text,
  "forwardFailures" integer not null default 0,
  "suspendedAt" text,
  "suspendedReason" text,
  "isSystem" integer not null default 0,
  "hasHeld" integer not null default 0,
  "clientId" text,
  "creationHash" text,
  "lastMessageMs" text,
  "storedKiB" integer not null default 0
);
create unique index "inbox_address" on "inbox" ("address");
create unique index "inbox_clientId" on "inbox" ("podId", "clientId") where "clientId" is not null;
create index "inbox_list" on "inbox" ("id") where "deletedAt" is null;
create index "inbox_podList" on "inbox" ("podId", "deletedAt", "id");
create index "inbox_system" on "inbox" ("podId", "id") where "isSystem" = 1 and "deletedAt" is null;
create index "inbox_held" on "inbox" ("id") where "hasHeld" = 1;
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
-- sha256 is that of the bytes, in hexadecimal: `mailboxctl verify` finds bytes that changed, and a message that is
-- delivered again is recognised by it.
create table "raw" (
  "id" text primary key,
  "sizeBytes" integer not null,
  "sha256" text not null,
  "content" blob,
  "createdAt" text not null
);

-- conversation: what Exchange calls that which the first message says it belongs to (Thread-Index). participants: the
-- addresses that a reply in this thread may reach unasked, as a JSON list in lower case (lib/core/mailbox/participants.ts);
-- null for a thread that began before they were kept.
create table "thread" (
  "id" text primary key,
  "inboxId" text not null references "inbox" ("id"),
  "subject" text not null,
  "isRead" integer not null,
  "messageCount" integer not null,
  "lastMessageAt" text not null,
  "createdAt" text not null,
  "conversation" text,
  "participants" text
);
create index "thread_conversation" on "thread" ("inboxId", "conversation", "id") where "conversation" is not null;
create index "thread_list" on "thread" ("inboxId", "lastMessageAt", "id");
create index "thread_readList" on "thread" ("inboxId", "isRead", "lastMessageAt", "id");

-- What a message says, as it was read when it came: once for its raw (the id is the raw's), however many inboxes it went
-- to; of an outbound message what it was composed of (the id is the message's). It goes with the last message that has it. JSON:
-- attachments ({filename, contentType, sizeBytes}; the bytes are read out of the raw, never stored twice), extracted
-- (what was found in an inbound message, {replyText, otp, signInLink, links}; replyText null: as bodyText; all of it null for one that came
-- before that was done), parseProblems (why it could not be read to its end: texts).
create table "reading" (
  "id" text primary key,
  "bodyText" text not null,
  "bodyHtml" text not null,
  "attachments" text not null,
  "extracted" text,
  "parseProblems" text not null
);

-- The text of an attachment of a reading (its `index` is its place in attachments), made when it was first asked for; it goes
-- with the reading. extractionMethod: pdf, office, csv, html, text, or error, where `content` is null.
create table "attachmentText" (
  "readingId" text not null references "reading" ("id"),
  "index" integer not null,
  "extractionMethod" text not null,
  "content" text,
  "createdAt" text not null,
  primary key ("readingId", "index")
);

-- One message in one inbox. `toAddr` inbound is the inbox, outbound the first recipient; `headerTo` is whom the sender
-- wrote to, with ", " between them (outbound null where that is `toAddr` alone), and so is `replyTo`. JSON: references,
-- cc, bcc (lists of text), addressNames (address to name), authentication ({spf, dkim, dmarc}).
-- fromProven: whether the domain in From is proven; null where
-- authentication is off. isNewInThread: whether the author was no participant of the thread when the message came.
-- autoReplyReason: why a program may or may not answer it. All three are null for outbound and for older messages.
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
  "category" text not null,
  "autoReplyable" integer not null,
  "verdict" text not null,
  "authentication" text not null,
  "createdAt" text not null,
  "readingId" text not null references "reading" ("id"),
  "fromProven" integer,
  "isNewInThread" integer,
  "autoReplyReason" text
);
create index "message_list" on "message" ("inboxId", "id");
create index "message_directionList" on "message" ("inboxId", "direction", "id");
create index "message_category" on "message" ("inboxId", "category", "id");
create index "message_thread" on "message" ("threadId", "id");
create index "message_rfcMessageId" on "message" ("inboxId", "rfcMessageId");
create index "message_pending" on "message" ("inboxId", "id") where "status" = 'pending';
create index "message_raw" on "message" ("rawId");
create index "message_reading" on "message" ("readingId");

-- The messages whose words are not in "messageSearch" yet: that is done behind the write that brings them, in batches. state: new;
-- partial, when some of them may be there already; failed, when it did not succeed, so that others have their turn.
create table "unindexedBody" (
  "messageId" text primary key references "message" ("id"),
  "state" text not null default 'partial'
);
create index "unindexedBody_state" on "unindexedBody" ("state", "messageId");

-- One message to one recipient: queued, deferred, delivered, failed, held or cancelled; with what the other side said
-- last. `captured` 1: kept on this machine instead of sent (delivery.mode = "capture"). purpose: send (an outbound
-- message) or forward (a copy of an inbound one). `mailFrom` is the reverse-path of this delivery alone, in lower
-- case, by which what comes back is known; null: the message's. `heldBy`, while it is held: operator, or null for the suspension
-- of its inbox. `recipient` is in the form that is compared; `rcptTo` as it was written, where that differs (RFC 5321 section 2.4). `replyClass` is what the last
-- refusal is about. `notify`, of mail that was submitted by SMTP: what its sender asks to be told, as JSON; null: nothing.
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
  "updatedAt" text not null,
  "purpose" text not null default 'send',
  "mailFrom" text,
  "heldBy" text,
  "rcptTo" text,
  "replyClass" text,
  "notify" text,
  "noticeAt" text
);
create index "delivery_noticeAt" on "delivery" ("noticeAt", "messageId") where "noticeAt" is not null;
create index "delivery_report" on "delivery" ("createdAt", "recipient") where "purpose" = 'report';
create index "delivery_message" on "delivery" ("messageId", "id");
create index "delivery_pending" on "delivery" ("messageId") where "state" in ('queued', 'deferred', 'held');
create index "delivery_mailFrom" on "delivery" ("mailFrom", "id") where "mailFrom" is not null;

-- What the operator holds by inbox, pod or domain of the recipient (null: any), and what comes new with it; a handful of rows
-- (limits.standingHolds), which each attempt asks.
create table "standingHold" (
  "id" text primary key,
  "inboxId" text,
  "podId" text,
  "domain" text,
  "createdAt" text not null
);

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

-- What is to be done and when: `subjectId` is the delivery (kind "delivery"), the draft or the webhookDelivery (kind
-- "webhook"). `destination` is what concurrency is counted by: of a delivery the domain, and the group of its mail servers
-- as soon as that is known; of a draft its inbox; of a webhook its URL. `podId` and `inboxId`: whose it is ('-': nobody's).
-- The claim counts the attempt and moves `dueAt` beyond the lease before the network is touched, so a crash can't hammer a
-- peer; only the holder of the lease (`leasedBy` with `attempts`) may finish. `cutOffs`: how many of the attempts a crash ended.
-- lane: fast (a first attempt), slow (everything else) or held (not claimed until it is released). isKnown: whether its
-- destination had answered when the row was written; others get a part of each lane. `turn` orders the fast lane in a pod.
create table "queueEntry" (
  "id" text primary key,
  "kind" text not null,
  "subjectId" text not null,
  "destination" text not null,
  "lane" text not null,
  "isKnown" integer not null,
  "turn" integer not null,
  "dueAt" text not null,
  "expiresAt" text not null,
  "attempts" integer not null,
  "leasedBy" text,
  "leasedUntil" text,
  "createdAt" text not null,
  "podId" text not null default '-',
  "inboxId" text not null default '-',
  "cutOffs" integer not null default 0
);
create index "queueEntry_due" on "queueEntry" ("kind", "lane", "dueAt", "id");
create index "queueEntry_fast" on "queueEntry" ("kind", "isKnown", "podId", "turn", "id") where "lane" = 'fast';
create index "queueEntry_slow" on "queueEntry" ("kind", "isKnown", "podId", "dueAt", "id") where "lane" = 'slow';
create index "queueEntry_destination" on "queueEntry" ("destination", "dueAt") where "kind" = 'delivery';
create index "queueEntry_subject" on "queueEntry" ("subjectId");
create index "queueEntry_leased" on "queueEntry" ("leasedBy") where "leasedBy" is not null;

-- A destination of mail (a domain, or a group of mail servers) that fails, or could not be tried: it gets one attempt at a time,
-- none before `retryAt`, which is the due time of its entries. `failures`: in a row, `failingSince` the first of them,
-- `lastFailure` what was seen at the last.
create table "destination" (
  "name" text primary key,
  "failures" integer not null,
  "failingSince" text not null,
  "lastFailure" text not null,
  "retryAt" text not null,
  "updatedAt" text not null
);
create index "destination_lastFailure" on "destination" ("lastFailure");
create index "destination_updatedAt" on "destination" ("updatedAt");

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
create index "event_inboxList" on "event" ("inboxId", "id", "type");
create index "event_podList" on "event" ("podId", "id", "type");
create index "event_typeList" on "event" ("type", "id");

-- Events whose write is done and which have no place in the stream yet, as JSON, with the work for their webhook (lib/store/placer.ts).
-- On SQLite, where one transaction writes at a time, its last statement gives them their places.
-- only on postgres
create table "unplaced" (
  "number" bigint generated always as identity primary key,
  "event" text not null,
  "call" text
);
-- end only

-- One event that is to be told to one webhook: the inbox's, or the account's where inboxId is null. state: queued,
-- deferred, delivered, failed (no more attempts), or cancelled (there is no webhook any more). `url`, `status` and
-- `error` are of the last attempt.
create table "webhookDelivery" (
  "id" text primary key,
  "eventId" text not null references "event" ("id"),
  "inboxId" text,
  "state" text not null,
  "attempts" integer not null,
  "url" text not null,
  "status" integer,
  "error" text,
  "nextAttemptAt" text,
  "createdAt" text not null,
  "updatedAt" text not null
);
create index "webhookDelivery_event" on "webhookDelivery" ("eventId", "id");

-- Every call of a webhook: its status, or why there is none; `answer` is the start of what came back.
create table "webhookAttempt" (
  "id" text primary key,
  "webhookDeliveryId" text not null references "webhookDelivery" ("id"),
  "url" text not null,
  "status" integer,
  "answer" text,
  "error" text,
  "durationMs" integer not null,
  "createdAt" text not null
);
create index "webhookAttempt_delivery" on "webhookAttempt" ("webhookDeliveryId", "id");

-- A question whether an address wants the mail of an inbox, mailed to it with a link; good once, until `expiresAt`.
create table "forwardConfirmation" (
  "id" text primary key,
  "inboxId" text not null references "inbox" ("id"),
  "address" text not null,
  "createdAt" text not null,
  "expiresAt" text not null,
  "usedAt" text
);
create index "forwardConfirmation_createdAt" on "forwardConfirmation" ("createdAt");
create index "forwardConfirmation_address" on "forwardConfirmation" ("address", "createdAt");
create index "forwardConfirmation_inbox" on "forwardConfirmation" ("inboxId", "id");

-- The final answers of sends, by the inbox that sends and its Idempotency-Key, for 24 hours. A row stands here with what
-- it answers or not at all, so that no two processes can answer one request twice.
create table "idempotency" (
  "inboxId" text not null,
  "key" text not null,
  "podId" text not null,
  "requestHash" text not null,
  "status" integer not null,
  "body" text not null,
  "createdAt" text not null,
  primary key ("inboxId", "key")
);
create index "idempotency_createdAt" on "idempotency" ("createdAt");
-- Whether a key was used on another inbox.
create index "idempotency_key" on "idempotency" ("key", "podId");

-- The mode of sender rules of a scope ('account', or the id of a pod or an inbox) in a direction: none, allowlist or
-- inherit. Without a row it is 'none' for the account and 'inherit' elsewhere. `setBy` account or pod: whose key set it.
-- What account keys and pod keys set for a scope are two levels, and the narrower of them decides.
create table "policyMode" (
  "scope" text not null,
  "setBy" text not null,
  "direction" text not null,
  "mode" text not null,
  primary key ("scope", "setBy", "direction")
);

-- A sender rule. `value` is an address, a domain, or *.domain, in lower case and A-labels; a message asks for the few
-- values that would match it. `setBy` as for modes.
create table "policyRule" (
  "id" text primary key,
  "scope" text not null,
  "setBy" text not null,
  "direction" text not null,
  "type" text not null,
  "value" text not null,
  "createdAt" text not null
);
create unique index "policyRule_value" on "policyRule" ("scope", "direction", "value", "type", "setBy");

-- What changed in the sender rules, and what they refused. podId and inboxId null: the account's own; an inbox's
-- entry has its pod too. The indexes hold all that lists filter and count by.
create table "policyAudit" (
  "id" text primary key,
  "podId" text,
  "inboxId" text,
  "action" text not null,
  "direction" text not null,
  "mode" text,
  "type" text,
  "value" text,
  "ruleId" text,
  "address" text,
  "reason" text,
  "keyId" text,
  "createdAt" text not null
);
create index "policyAudit_list" on "policyAudit" ("createdAt", "id", "action", "direction");
create index "policyAudit_podList" on "policyAudit" ("podId", "createdAt", "id", "action", "direction");
create index "policyAudit_inboxList" on "policyAudit" ("inboxId", "createdAt", "id", "action", "direction");

-- Who is not written to any more: by one pod, or by all (`podId` is ''). `reason`: bounce, complaint, unsubscribe or manual;
-- `evidence` is what the other side said, `messageId` the message that it said it to. After `expiresAt` the row means nothing.
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
create index "suppression_list" on "suppression" ("createdAt", "recipient", "podId", "reason", "expiresAt");
create index "suppression_expiresAt" on "suppression" ("expiresAt") where "expiresAt" is not null;
create index "suppression_podId" on "suppression" ("podId");

-- With whom an inbox is acquainted: who wrote to it, and whom it wrote to. Whoever is not here is a cold recipient.
create table "contact" (
  "inboxId" text not null references "inbox" ("id"),
  "address" text not null,
  "createdAt" text not null,
  primary key ("inboxId", "address")
);

-- What counts against a limit. `subject` is 'account', or the id of a pod, an inbox or a key; kind: inboxes (made), messages
-- (sent), cold (recipients), feedback (notes); `period` is a UTC day (2026-01-31) or month (2026-01).
create table "usage" (
  "subject" text not null,
  "kind" text not null,
  "period" text not null,
  "count" integer not null,
  primary key ("subject", "kind", "period")
);
create index "usage_period" on "usage" ("kind", "period", "count");

-- What an inbox did on a UTC day (2026-01-31), counted in the writes of what is counted: messages that came and that were
-- sent, deliveries to one recipient that were taken and that came back, bytes of attachments and of whole messages
-- (n × 2^30 + rest, for an integer has 32 bits). `podId` is the inbox's as it was then. System inboxes have no row.
create table "dailyUsage" (
  "day" text not null,
  "inboxId" text not null references "inbox" ("id"),
  "podId" text not null,
  "inbound" integer not null,
  "outbound" integer not null,
  "delivered" integer not null,
  "bounced" integer not null,
  "attachmentGiB" integer not null,
  "attachmentBytes" integer not null,
  "storedGiB" integer not null,
  "storedBytes" integer not null,
  primary key ("day", "inboxId")
);
create index "dailyUsage_inboxList" on "dailyUsage" ("inboxId", "day");
create index "dailyUsage_podList" on "dailyUsage" ("podId", "day", "inboxId");

-- What users of the API told the operator: `type` bug, friction or feature_request, `context` JSON. The newest
-- limits.feedbackKept. podId and inboxId are those of the key.
create table "feedback" (
  "id" text primary key,
  "type" text not null,
  "message" text not null,
  "context" text,
  "podId" text,
  "inboxId" text,
  "keyId" text,
  "createdAt" text not null
);

-- A message that is not sent yet: what a send would be asked with. JSON: to, cc, bcc, lastError ({error, message, at}).
-- status: open, scheduled (there is a queue entry of kind "draft" for `sendAt`) or sent, in the write of the message
-- `messageId`. `revision` counts its changes, so that what is sent is what was read.
create table "draft" (
  "id" text primary key,
  "inboxId" text not null references "inbox" ("id"),
  "threadId" text,
  "to" text not null,
  "cc" text not null,
  "bcc" text not null,
  "subject" text,
  "body" text,
  "bodyHtml" text,
  "replyTo" text,
  "includeQuote" integer,
  "autoSubmitted" integer,
  "sendAt" text,
  "status" text not null,
  "messageId" text,
  "lastError" text,
  "revision" integer not null,
  "createdAt" text not null,
  "updatedAt" text not null,
  "replyAll" integer,
  "derived" text,
  "bodyFormat" text
);
create index "draft_list" on "draft" ("inboxId", "id", "status");

-- What is attached to a draft. Up to 256 KiB the bytes are `content`; larger ones are the file of this id below
-- data_dir/raw and content is null. sha256 is that of the bytes, as in "raw". Of a draft that was sent, the bytes are gone.
create table "draftAttachment" (
  "id" text primary key,
  "draftId" text not null references "draft" ("id"),
  "filename" text not null,
  "contentType" text not null,
  "sizeBytes" integer not null,
  "sha256" text not null,
  "content" blob
);
create index "draftAttachment_draft" on "draftAttachment" ("draftId", "id");

-- Who was put off by greylisting, and who came again (lib/core/inbound/greylist.ts). key is the SHA-256 of a block of
-- addresses, or of one with a reverse-path and an inbox; it has one of few slots, so there are never more than 131,072 rows:
-- a key takes the place of another that has not come again for hours. passes is how often it came again, 0 while it has not.
create table "greylistEntry" (
  "slot" integer primary key,
  "key" text not null,
  "passes" integer not null,
  "firstSeenAt" text not null,
  "expiresAt" text not null
);
create index "greylistEntry_expiresAt" on "greylistEntry" ("expiresAt");

-- Messages that were answered "try again later" because DNS did not say what decides whether they are from whom they
-- say (lib/core/inbound/deferral.ts): a hash of reverse-path and Message-ID, and the block of addresses that it came from
-- first. Their number is bounded for each block and in all.
create table "authenticationDeferral" (
  "id" text primary key,
  "network" text not null,
  "firstAt" text not null
);
create index "authenticationDeferral_network" on "authenticationDeferral" ("network");
create index "authenticationDeferral_firstAt" on "authenticationDeferral" ("firstAt");

-- The MTA-STS policies (RFC 8461) of domains that mail goes to, as they were fetched: each holds until expiresAt. mx is JSON.
create table "stsPolicy" (
  "domain" text primary key,
  "policyId" text not null,
  "mode" text not null,
  "mx" text not null,
  "maxAgeSeconds" integer not null,
  "fetchedAt" text not null,
  "expiresAt" text not null
);
create index "stsPolicy_expiresAt" on "stsPolicy" ("expiresAt");

-- How often TLS with the mail servers of a domain went how on a day (UTC), for its report (RFC 8460): policyType is tlsa, sts or
-- no-policy-found, `type` success or the name of a fault, `host` empty where it is none of a host. Of one day and domain there
-- are limits.tlsResultRows. reportedAt is when it was told to the domain.
create table "tlsResult" (
  "day" text not null,
  "domain" text not null,
  "policyType" text not null,
  "type" text not null,
  "host" text not null,
  "count" integer not null,
  "reportedAt" text,
  primary key ("day", "domain", "policyType", "type", "host")
);
create index "tlsResult_unreported" on "tlsResult" ("day", "domain") where "reportedAt" is null;

-- What messages are found by, written behind them and deleted with them (lib/store/search/full-text.ts): their words, as we read
-- them ourselves, so that the same is found on every database and in every language; and marks, words that no text
-- can have, for what they belong to and are: all, inbox<id>, pod<id>, category<name>, direction<name>, attachment.
-- SQLite: FTS5, which splits at spaces alone what is beyond ASCII. The rowid is the millisecond of createdAt × 2048 and
-- a count, so that newest first is its order and a time is a range of it. Its segments are merged in small steps by us, not
-- in the write that happens to fill one up.
-- only on sqlite
create virtual table "messageSearch" using fts5(
  "messageId" unindexed,
  "threadId" unindexed,
  "mark",
  "from",
  "to",
  "subject",
  "body",
  content='',
  contentless_delete=1,
  contentless_unindexed=1,
  tokenize='ascii'
);
insert into "messageSearch" ("messageSearch", "rank") values ('automerge', 0);
insert into "messageSearch" ("messageSearch", "rank") values ('crisismerge', 1000);
insert into "messageSearch" ("messageSearch", "rank") values ('deletemerge', 2);
-- end only
-- PostgreSQL: from, to, subject and body are the weights A to D; marks begin with `=`.
-- only on postgres
create table "messageSearch" (
  "messageId" text primary key,
  "threadId" text not null,
  "createdAt" text not null,
  "document" tsvector not null
);
create index "messageSearch_document" on "messageSearch" using gin ("document");
-- end only

-- The daemons of this installation: one, or several on one PostgreSQL. `id` is that of a data directory; `holder` is the name in which
-- the node holds leases (`queueEntry.leasedBy`, `sweep.heldBy`, `reader.holder`), another one after each start. state: up; stopped; gone:
-- `leasedUntil` was over, by the clock of the server, and nobody had the lock of the node, so others took over what it held. On SQLite
-- `leasedUntil` is null. `newestStep` is the last step of the schema that its program knows.
-- `blobs` is where its large messages are: `disk`, or the URL of the bucket; `bucketOwner` a hash of the name by which its objects are its
-- own (lib/blob/bucket/owner.ts). `settings` is how it is configured: JSON, of each part a hash (lib/core/nodes/settings-marks.ts).
create table "node" (
  "id" text primary key,
  "holder" text not null,
  "name" text not null,
  "version" text not null,
  "newestStep" integer not null,
  "blobs" text not null,
  "bucketOwner" text,
  "state" text not null,
  "isDraining" integer not null,
  "startedAt" text not null,
  "leasedUntil" text,
  "settings" text
);
create index "node_state" on "node" ("state", "holder");

-- What the nodes have in common that order the same certificate of a CA (lib/core/nodes/shared-certificate.ts): `id` is what it is and of
-- which order, `content` is sealed: the key that the CA knows them by, the certificate with its key, how the last orders went.
create table "acmeFile" (
  "id" text primary key,
  "content" text not null,
  "changedAt" text not null
);

-- What a CA is answered that asks for `token` at any node. Those of a day ago go with the next order.
create table "acmeChallenge" (
  "token" text primary key,
  "keyAuthorization" text not null,
  "createdAt" text not null
);

-- Who does a timed sweep (lib/upkeep.ts) just now, or orders a certificate: one node at a time.
create table "sweep" (
  "name" text primary key,
  "heldBy" text
);

-- What those take who read the stream of events at a node of several (`holder`: that of its row); '' is any. An inbox stands without its pod.
create table "reader" (
  "holder" text not null,
  "podId" text not null,
  "inboxId" text not null,
  "type" text not null,
  primary key ("holder", "podId", "inboxId", "type")
);
create index "reader_inbox" on "reader" ("inboxId", "type", "podId", "holder");
