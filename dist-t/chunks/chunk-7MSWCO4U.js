import { createRequire as bundleRequire } from 'node:module';
const require = bundleRequire(import.meta.url), __filename = import.meta.filename, __dirname = import.meta.dirname;
import{createGroupCommit}from"./chunk-2W435O5B.js";import{durationFault,init_duration}from"./chunk-I7KWKAFH.js";import{createListeners}from"./chunk-Z4DHBP6I.js";import{threadEntry}from"./chunk-2VO4RGQI.js";import{SchemaFault}from"./chunk-5OCK25AT.js";import{openSqliteFollower,openSqliteReader,openSqliteWriter}from"./chunk-M4T7LYJP.js";import{indexMessage,optimizeIndex,wordsOfRow}from"./chunk-YCTVDN2Q.js";import{ddlFor,sql}from"./chunk-LFR5QLCK.js";import{__esm}from"./chunk-N62VOZIV.js";import{isIP,isIPv6}from"node:net";function parseEndpoint(text){let[,bracketed,plain,port]=endpointForm.exec(text)??[],host=bracketed??plain??"";if(!(bracketed===void 0?isIP(host)===4:isIPv6(host))||Number(port)>65535)throw new RangeError(`not an address and a port: ${text}`);return{host,port:Number(port)}}function formatEndpoint({host,port}){return isIPv6(host)?`[${host}]:${port}`:`${host}:${port}`}function endpointFault(text){if(isIPv6(text))return`has no port: write "[${text}]:25", with the port that you mean`;if(isIP(text.replace(/^\[(.*)\]$/,"$1")))return`has no port: write "${text}:25", with the port that you mean`;let cut=text.lastIndexOf(":");if(cut<0)return'must be an IP address and a port, such as "127.0.0.1:25" or "[::1]:25"';let host=text.slice(0,cut),port=text.slice(cut+1);if(!/^(0|[1-9][0-9]{0,4})$/.test(port)||Number(port)>65535)return"has no valid port after the last colon: a port is a whole number from 0 to 65535";if(host===""||host==="*")return`must name an address: write "0.0.0.0:${port}" for every IPv4 address and "[::]:${port}" for every IPv6 address`;if(isIPv6(host))return`needs brackets around the IPv6 address: write "[${host}]:${port}"`;let bare=/^\[(.*)\]$/.exec(host)?.[1];if(!(bare===void 0?isIP(host)===4:isIPv6(bare)))return'must begin with an IP address, not a name: such as "127.0.0.1:25" or "[::1]:25"'}function defaultBaseUrl(listener,hostname){return`http://${listener.host==="0.0.0.0"||listener.host==="::"?`${hostname}:${listener.port}`:formatEndpoint(listener)}`}function parseSocket(text){return text.startsWith("/")?{path:text}:parseEndpoint(text)}var endpointForm,init_endpoint=__esm({"lib/config/endpoint.ts"(){"use strict";endpointForm=/^(?:\[([^[\]]+)\]|([^:[\]]+)):(0|[1-9][0-9]{0,4})$/}});import{isIP as isIP2}from"node:net";import{isAbsolute}from"node:path";import{domainToASCII}from"node:url";function domainFault(text){if(isIP2(text.replace(/^\[(.*)\]$/,"$1")))return"must be a host name, not an IP address";let labels=text.split("."),isName=labels.every(part=>label.test(part))&&text.length<=253;if(isName&&labels.length===1)return'must be a full name with its domain, such as "mail.example.com"';if(isName&&!/^[0-9]+$/.test(labels.at(-1)??""))return;let repaired=domainToASCII(text.replace(/\.$/,""));return repaired!==""&&repaired!==text&&domainFault(repaired)===void 0?`must be written "${repaired}"`:'must be a host name: letters, digits and hyphens, in parts with dots between, such as "mail.example.com"'}function domainPatternFault(text){if(text==="*")return;let fault=domainFault(text.replace(/^\*\./,""));return fault&&`${fault}, or "*.example.com" for all names below one, or "*"`}function pathFault(text){if(text.includes("\0"))return"must not contain a NUL character";if(!isAbsolute(text))return'must be an absolute path, which begins with "/" (neither "~" nor variables are expanded)'}function baseUrlFault(text){let url=URL.parse(text);if(!/^https?:\/\//i.test(text)){let repaired2=`${/:\d+$/.test(text)?"http":"https"}://${text}`;return`must begin with "https://" or "http://", such as "${baseUrlFault(repaired2)===void 0?repaired2:"https://mail.example.com"}"`}if(!url)return'must be an address such as "https://mail.example.com"';if(url.username||url.password)return"must not contain a user name or a password";if(/[?#\s]/.test(text))return'must not contain "?", "#" or a space';let repaired=url.href;for(;repaired.endsWith("/");)repaired=repaired.slice(0,-1);return repaired===text?void 0:`must be written "${repaired}"`}function readBucketUrl(text){let[,bucket,beginning=""]=/^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/([A-Za-z0-9_./-]{1,200}))?$/.exec(text)??[],isPath=!beginning.split("/").some(part=>part===""||part==="."||part==="..");return bucket===void 0||beginning!==""&&!isPath?void 0:{bucket,beginning}}function networkFault(text){let[address="",prefix,...rest]=text.split("/"),bits={0:0,4:32,6:128}[isIP2(address)]??0;if(bits===0||rest.length>0)return'must be a network, such as "10.0.0.0/8" or "fd00::/8"';if(prefix===void 0)return`has no prefix length: write "${text}/${bits}" for this one address`;if(!(/^(0|[1-9][0-9]{0,2})$/.test(prefix)&&Number(prefix)<=bits))return`must have a prefix length from 0 to ${bits} after the "/"`}function serverFault(text){return endpointFault(text)??(text.endsWith(":0")?"must have the port that the server answers on":void 0)}function socketFault(text){return text.startsWith("/")?text.includes("\0")||Buffer.byteLength(text)>107?"must be a path of at most 107 bytes":void 0:serverFault(text)&&'must be an absolute path, or an IP address and a port such as "127.0.0.1:3310"'}function spamActionFault(text){return spamActions.includes(text)?void 0:`must be one of ${spamActions.map(each=>`"${each}"`).join(", ")}`}function addressFault(text){let at=text.lastIndexOf("@"),isLocalPart=/^[A-Za-z0-9.!$'*+=^_`{|}~-]{1,64}$/.test(text.slice(0,at));if(at<1||!isLocalPart)return'must be an email address, such as "ops@example.net"';let fault=domainFault(text.slice(at+1));return fault&&`has no domain that can be used after the "@": it ${fault}`}function keyPrefixFault(text){return/^[A-Za-z0-9_-]{1,32}$/.test(text)?void 0:'must have 1 to 32 characters of a-z, A-Z, 0-9, "_" and "-", such as "mbx_"'}function originFault(text){if(text==="*")return;let url=URL.parse(text);return!url||!/^https?:$/.test(url.protocol)?'must be "*" or an origin, such as "https://app.example.com"':url.origin===text?void 0:`must be written "${url.origin}"`}var label,userFault,bucketFault,spamActions,nameFault,ipFault,formats,init_format=__esm({"lib/config/format.ts"(){"use strict";init_duration();init_endpoint();label=/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;userFault=text=>/^[^\x00-\x1f\x7f]{1,255}$/.test(text)?void 0:"must have 1 to 255 characters, none of them a control character";bucketFault=text=>readBucketUrl(text)?void 0:'must be "s3://" and the name of a bucket, and after a slash what keys begin with, if anything, such as "s3://mail-of-example/large"';spamActions=["reject","add header","rewrite subject","soft reject","greylist"];nameFault=text=>text===""||text.length>255?"must have 1 to 255 characters":void 0,ipFault=text=>isIP2(text)?void 0:"must be an IP address, without a port";formats={domain:{title:"host name",fault:domainFault},user:{title:"name of a user",fault:userFault},"domain-pattern":{title:'domain, or "*"',fault:domainPatternFault},path:{title:"absolute path",fault:pathFault},"base-url":{title:"http or https address",fault:baseUrlFault},bucket:{title:"s3://bucket",fault:bucketFault},listener:{title:"address:port",fault:endpointFault},server:{title:"address:port",fault:serverFault},origin:{title:'origin, or "*"',fault:originFault},network:{title:"network in CIDR form",fault:networkFault},ip:{title:"IP address",fault:ipFault},socket:{title:"path or address:port",fault:socketFault},"spam-action":{title:"action of rspamd",fault:spamActionFault},name:{title:"name",fault:nameFault},"key-prefix":{title:"beginning of a token",fault:keyPrefixFault},address:{title:"email address",fault:addressFault},duration:{title:"duration",fault:durationFault}}}});var noMeter={count(){},observe(){},add(){}},gatherMs=500,gatherMost=2e3;function createDistantMeter(post){let counts=new Map,values=[],timer;function send(){clearTimeout(timer),timer=void 0;let noted=[...counts.values(),...values];counts=new Map,values=[],post(noted)}function gathered(){counts.size+values.length>=gatherMost?send():timer??=setTimeout(send,gatherMs).unref()}return{count(name,...labels){let key=[name,...labels].join(" "),known=counts.get(key);known?known.by++:counts.set(key,{count:name,labels,by:1}),gathered()},observe(name,value,...labels){values.push({observe:name,labels,value}),gathered()},add(){}}}import{mkdir}from"node:fs/promises";import{join}from"node:path";import{Worker as Worker2}from"node:worker_threads";import{Worker}from"node:worker_threads";import{once}from"node:events";var restartMs=1e4;function keepThread(begin,told,died){let worker,timer,isStopped=!1;function start(){let why="it ended";worker=begin(),worker.unref(),worker.on("message",told),worker.on("error",error=>{why=String(error)}),worker.on("exit",()=>{isStopped||(died(why),timer=setTimeout(start,restartMs).unref())})}return start(),{async stop(){isStopped=!0,clearTimeout(timer),worker.threadId!==-1&&(worker.ref(),worker.postMessage("stop"),await once(worker,"exit"))}}}function startCheckpoints(workerData,told){let options={name:"checkpoints",workerData,resourceLimits:{maxOldGenerationSizeMb:32,maxYoungGenerationSizeMb:2}};return keepThread(()=>new Worker(threadEntry("store/dialect/checkpoint-thread"),options),told,why=>told({usedBytes:0,fault:`the thread that writes it died: ${why}`,lost:null}))}import Database from"better-sqlite3";var firstMail={number:1,name:"first-mail",breaking:!0,sql:`
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
`};var domains={number:2,name:"domains",breaking:!0,sql:`
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
`,fill:countInboxes};async function countInboxes(db){let counts=new Map,inboxes=await db.selectFrom("inbox").select(["address","podId"]).where("deletedAt","is",null).execute();for(let{address,podId}of inboxes){let domain=address.slice(address.lastIndexOf("@")+1),use=counts.get(`${domain} ${podId}`)??{domain,podId,inboxCount:0};counts.set(`${domain} ${podId}`,{...use,inboxCount:use.inboxCount+1})}for(let use of counts.values())await db.insertInto("domainUse").values(use).execute()}var policy={number:3,name:"policy",breaking:!0,sql:`
create table "policyMode" (
  "scope" text not null,
  "direction" text not null,
  "mode" text not null,
  primary key ("scope", "direction")
);
create table "policyRule" (
  "id" text primary key,
  "scope" text not null,
  "direction" text not null,
  "type" text not null,
  "value" text not null,
  "createdAt" text not null
);
create unique index "policyRule_value" on "policyRule" ("scope", "direction", "value", "type");
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
`};var suppressions={number:4,name:"suppressions",breaking:!0,sql:`
create table "suppression" (
  "recipient" text primary key,
  "reason" text not null,
  "evidence" text,
  "messageId" text,
  "createdAt" text not null,
  "expiresAt" text
);
create index "suppression_list" on "suppression" ("createdAt", "recipient", "reason", "expiresAt");
create index "suppression_expiresAt" on "suppression" ("expiresAt") where "expiresAt" is not null;
`};var sendingLimits={number:5,name:"limits",breaking:!1,sql:`
create table "contact" (
  "inboxId" text not null references "inbox" ("id"),
  "address" text not null,
  "createdAt" text not null,
  primary key ("inboxId", "address")
);
create table "usage" (
  "subject" text not null,
  "kind" text not null,
  "period" text not null,
  "count" integer not null,
  primary key ("subject", "kind", "period")
);
create index "usage_period" on "usage" ("kind", "period", "count");
insert into "contact" ("inboxId", "address", "createdAt")
select "message"."inboxId", "delivery"."recipient", min("delivery"."createdAt")
from "delivery" join "message" on "message"."id" = "delivery"."messageId"
group by "message"."inboxId", "delivery"."recipient";
insert into "contact" ("inboxId", "address", "createdAt")
select "inboxId", lower("fromAddr"), min("createdAt")
from "message" where "direction" = 'inbound' and "verdict" = 'clean'
group by "inboxId", lower("fromAddr")
on conflict do nothing;
`};var drafts={number:6,name:"drafts",breaking:!1,sql:`
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
  "updatedAt" text not null
);
create index "draft_list" on "draft" ("inboxId", "id", "status");
create table "draftAttachment" (
  "id" text primary key,
  "draftId" text not null references "draft" ("id"),
  "filename" text not null,
  "contentType" text not null,
  "sizeBytes" integer not null,
  "content" blob
);
create index "draftAttachment_draft" on "draftAttachment" ("draftId", "id");
create index "event_inboxList" on "event" ("inboxId", "id", "type");
create index "event_podList" on "event" ("podId", "id", "type");
create index "event_typeList" on "event" ("type", "id");
`};var search={number:7,name:"search",breaking:!0,sql:`
alter table "message" add column "extracted" text;
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
-- end only
-- only on postgres
create table "messageSearch" (
  "messageId" text primary key,
  "threadId" text not null,
  "createdAt" text not null,
  "document" tsvector not null
);
create index "messageSearch_document" on "messageSearch" using gin ("document");
-- end only
`,fill:indexAll},rowsAtOnce=200;async function indexAll(db){for(let last="";;){let{rows}=await sql`
      select "message".*, "inbox"."podId" from "message" inner join "inbox" on "inbox"."id" = "message"."inboxId"
      where "message"."id" > ${last} order by "message"."id" limit ${rowsAtOnce}`.execute(db);for(let row of rows)await indexMessage(db,{...row,hasAttachments:row.attachments!=="[]",words:wordsOfRow(row)});if(rows.length<rowsAtOnce)return;last=rows.at(-1).id}}var eventDelivery={number:8,name:"event-delivery",breaking:!0,sql:`
alter table "account" add column "webhookUrl" text;
alter table "account" add column "webhookSecret" text;
alter table "account" add column "healthAt" text;
create table "member" (
  "address" text primary key,
  "name" text,
  "createdAt" text not null
);
alter table "inbox" add column "webhookUrl" text;
alter table "inbox" add column "webhookSecret" text;
alter table "inbox" add column "forwardTo" text;
alter table "inbox" add column "forwardWhen" text;
alter table "inbox" add column "forwardStatus" text;
alter table "inbox" add column "forwardFailures" integer not null default 0;
alter table "inbox" add column "suspendedAt" text;
alter table "inbox" add column "suspendedReason" text;
alter table "delivery" add column "purpose" text not null default 'send';
alter table "delivery" add column "mailFrom" text;
create index "delivery_mailFrom" on "delivery" ("mailFrom", "id") where "mailFrom" is not null;
drop index "queueEntry_due";
create index "queueEntry_due" on "queueEntry" ("kind", "state", "dueAt", "id");
create index "queueEntry_parked" on "queueEntry" ("kind", "destination", "dueAt", "id") where "state" = 'parked';
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
`};var policyMakers={number:9,name:"policy-makers",breaking:!0,sql:`
alter table "policyMode" add column "isTenants" integer not null default 0;
alter table "policyRule" add column "isTenants" integer not null default 0;
`};var authenticationDeferrals={number:10,name:"authentication-deferrals",breaking:!1,sql:`
create table "authenticationDeferral" (
  "id" text primary key,
  "network" text not null,
  "firstAt" text not null
);
create index "authenticationDeferral_network" on "authenticationDeferral" ("network");
create index "authenticationDeferral_firstAt" on "authenticationDeferral" ("firstAt");
`};var sealedSecrets={number:11,name:"sealed-secrets",breaking:!0,sql:`
create table "secretKey" (
  "id" text primary key,
  "createdAt" text not null,
  "sealedAt" text
);
`};var door={number:12,name:"door",breaking:!0,sql:`
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
`,fill:leaveOutSystemInboxes};async function leaveOutSystemInboxes(db){let rows=await db.selectFrom("inbox").select(["id","podId"]).where("address","like","postmaster@%").where("deletedAt","is",null).execute();for(let{id,podId}of rows)await db.updateTable("inbox").set({isSystem:1}).where("id","=",id).execute(),await db.updateTable("account").set(eb=>({inboxCount:eb("inboxCount","-",1)})).execute(),await db.updateTable("pod").set(eb=>({inboxCount:eb("inboxCount","-",1)})).where("id","=",podId).execute()}var readings={number:13,name:"readings",breaking:!0,sql:`
create table "reading" (
  "id" text primary key,
  "bodyText" text not null,
  "bodyHtml" text not null,
  "attachments" text not null,
  "extracted" text,
  "parseProblems" text not null
);
insert into "reading" ("id", "bodyText", "bodyHtml", "attachments", "extracted", "parseProblems")
  select "rawId", "bodyText", "bodyHtml", "attachments", "extracted", '[]' from "message" where "id" in (
    select min("id") from "message" where "direction" = 'inbound' and "rawId" is not null group by "rawId");
insert into "reading" ("id", "bodyText", "bodyHtml", "attachments", "extracted", "parseProblems")
  select "id", "bodyText", "bodyHtml", "attachments", "extracted", '[]' from "message"
    where "direction" = 'outbound' or "rawId" is null;
alter table "message" add column "readingId" text references "reading" ("id");
update "message" set "readingId" =
  case when "direction" = 'inbound' and "rawId" is not null then "rawId" else "id" end;
create index "message_reading" on "message" ("readingId");
alter table "message" drop column "bodyText";
alter table "message" drop column "bodyHtml";
alter table "message" drop column "attachments";
alter table "message" drop column "extracted";
create table "unindexedBody" (
  "messageId" text primary key references "message" ("id")
);
`};var tenantsApart={number:14,name:"tenants-apart",breaking:!0,sql:`
drop table "idempotency";
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
create index "idempotency_key" on "idempotency" ("key", "podId");
drop index "domain_domain";
create unique index "domain_domain" on "domain" ("domain", coalesce("podId", ''));
create unique index "domain_claim" on "domain" ("domain") where "verifiedAt" is not null;
alter table "domain" add column "problem" text;
alter table "domain" add column "found" text not null default '{}';
alter table "inbox" add column "hasHeld" integer not null default 0;
create index "inbox_held" on "inbox" ("id") where "hasHeld" = 1;
create index "message_pending" on "message" ("inboxId", "id") where "status" = 'pending';
`};var replies={number:18,name:"replies",breaking:!0,sql:`
alter table "draft" add column "replyAll" integer;
`};var lookUps={number:20,name:"look-ups",breaking:!1,sql:`
alter table "inbox" add column "clientId" text;
alter table "inbox" add column "creationHash" text;
create unique index "inbox_clientId" on "inbox" ("podId", "clientId") where "clientId" is not null;
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
`};var attachmentTexts={number:21,name:"attachment-texts",breaking:!0,sql:`
create table "attachmentText" (
  "readingId" text not null references "reading" ("id"),
  "index" integer not null,
  "extractionMethod" text not null,
  "content" text,
  "createdAt" text not null,
  primary key ("readingId", "index")
);
`};var fairQueue={number:25,name:"fair-queue",breaking:!0,sql:`
alter table "queueEntry" add column "podId" text not null default '-';
alter table "queueEntry" add column "inboxId" text not null default '-';
alter table "queueEntry" add column "cutOffs" integer not null default 0;
update "queueEntry" set "state" = 'ready' where "state" = 'parked';
update "queueEntry" set "leasedBy" = null, "leasedUntil" = null, "dueAt" = "createdAt" where "leasedBy" is not null;
update "queueEntry" set "inboxId" = coalesce((select "message"."inboxId" from "delivery" join "message" on "message"."id" = "delivery"."messageId" where "delivery"."id" = "queueEntry"."subjectId"), '-') where "kind" = 'delivery';
update "queueEntry" set "podId" = coalesce((select "inbox"."podId" from "inbox" where "inbox"."id" = "queueEntry"."inboxId"), '-') where "kind" = 'delivery';
create index "queueEntry_first" on "queueEntry" ("kind", "state", "podId", "inboxId", "dueAt", "id") where "attempts" = 0;
create index "queueEntry_again" on "queueEntry" ("kind", "state", "dueAt", "id") where "attempts" > 0;
create index "queueEntry_parkedFirst" on "queueEntry" ("kind", "destination", "podId", "inboxId", "dueAt", "id") where "state" = 'parked' and "attempts" = 0;
create index "queueEntry_parkedExpiry" on "queueEntry" ("kind", "expiresAt", "id") where "state" = 'parked';
create table "destination" (
  "name" text primary key,
  "failures" integer not null,
  "isFailing" integer not null,
  "failingSince" text,
  "lastFailure" text,
  "probeAt" text,
  "lookAt" text,
  "updatedAt" text not null
);
create index "destination_lookAt" on "destination" ("isFailing", "lookAt") where "lookAt" is not null;
create index "destination_updatedAt" on "destination" ("updatedAt");
`};var indexMerges={number:27,name:"index-merges",breaking:!1,sql:`
-- only on sqlite
insert into "messageSearch" ("messageSearch", "rank") values ('automerge', 0);
insert into "messageSearch" ("messageSearch", "rank") values ('crisismerge', 1000);
-- end only
`};var indexFollows={number:29,name:"index-follows",breaking:!0,sql:`
alter table "unindexedBody" add column "state" text not null default 'partial';
create index "unindexedBody_state" on "unindexedBody" ("state", "messageId");
`};var operatorsHand={number:33,name:"operators-hand",breaking:!1,sql:`
alter table "delivery" add column "heldBy" text;
alter table "delivery" add column "rcptTo" text;
`};var tlsPolicies={number:38,name:"tls-policies",breaking:!1,sql:`
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
`};var domainKeys={number:39,name:"domain-keys",breaking:!0,sql:`
alter table "domain" add column "dkimSince" text not null default '';
update "domain" set "dkimSince" = "createdAt";
create index "domain_dkimSince" on "domain" ("dkimSince");
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
`};var replyClassesKept={number:41,name:"reply-classes",breaking:!1,sql:`
alter table "delivery" add column "replyClass" text;
`};var suppressionsOfPods={number:42,name:"suppressions-of-pods",breaking:!0,sql:`
create table "suppressionBefore" as select * from "suppression";
drop table "suppression";
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
insert into "suppression" ("recipient", "podId", "reason", "evidence", "messageId", "createdAt", "expiresAt")
  select "recipient", '', "reason", "evidence", "messageId", "createdAt", "expiresAt" from "suppressionBefore";
drop table "suppressionBefore";
create index "suppression_list" on "suppression" ("createdAt", "recipient", "podId", "reason", "expiresAt");
create index "suppression_expiresAt" on "suppression" ("expiresAt") where "expiresAt" is not null;
create index "suppression_podId" on "suppression" ("podId");
`};var retention={number:45,name:"retention",breaking:!1,sql:`
create index "message_category" on "message" ("inboxId", "category", "id");
-- only on sqlite
insert into "messageSearch" ("messageSearch", "rank") values ('deletemerge', 2);
-- end only
`};var notices={number:47,name:"notices",breaking:!1,sql:`
alter table "delivery" add column "notify" text;
`};var standingHolds={number:48,name:"standing-holds",breaking:!1,sql:`
create table "standingHold" (
  "id" text primary key,
  "inboxId" text,
  "podId" text,
  "domain" text,
  "createdAt" text not null
);
`};var conversations={number:49,name:"conversations",breaking:!1,sql:`
alter table "thread" add column "conversation" text;
create index "thread_conversation" on "thread" ("inboxId", "conversation", "id") where "conversation" is not null;
`};var migrations=[firstMail,domains,policy,suppressions,sendingLimits,drafts,search,eventDelivery,policyMakers,authenticationDeferrals,sealedSecrets,door,readings,tenantsApart,replies,lookUps,attachmentTexts,fairQueue,indexMerges,indexFollows,operatorsHand,tlsPolicies,domainKeys,replyClassesKept,suppressionsOfPods,retention,notices,standingHolds,conversations];var ledgerDdl=`create table if not exists "migration" (
  "number" integer primary key,
  "name" text not null,
  "breaking" integer not null,
  "appliedAt" text not null
);`;var toldOfStrange=20,ledger="migration";function findStrangeSchema(path){let connection=new Database(path,{readonly:!0,fileMustExist:!0});try{connection.pragma("trusted_schema = off");let present=partsOf(connection),numbers=present.some(({type,name})=>type==="table"&&name===ledger)?connection.prepare('select "number" from "migration" limit 10000').pluck().all():[],isNewer=numbers.some(number=>!migrations.some(step=>step.number===number)),strange=compare(present,expectedOf(new Set(numbers)),isNewer),mayRun=strange.some(({type})=>type==="trigger"||type==="view");return{found:strange.slice(0,toldOfStrange).map(({said})=>said),mayRun,isNewer}}finally{connection.close()}}function compare(present,expected,isNewer){let wanted=new Map(expected.map(part=>[`${part.type} ${part.name}`,part])),found=[];for(let{type,name,sql:sql2}of present){let ours=wanted.get(`${type} ${name}`);wanted.delete(`${type} ${name}`);let isPlain=type==="index"||type==="table"&&!/^\s*create\s+virtual\b/i.test(sql2);if(ours?.sql===sql2||isNewer&&isPlain)continue;let why=ours===void 0?"none of mailboxd":"not as mailboxd made it";found.push({type,said:`the ${type} ${name} is ${why}`})}let missing=isNewer?[]:[...wanted.values()];return[...found,...missing.map(({type,name})=>({type:"missing",said:`the ${type} ${name} is missing`}))]}function expectedOf(numbers){let truth=new Database(":memory:");try{truth.exec(ledgerDdl);for(let{number,sql:sql2}of migrations)numbers.has(number)&&truth.exec(ddlFor("sqlite",sql2));return partsOf(truth)}finally{truth.close()}}var mostParts=2e3,mostLetters=2e4;function partsOf(connection){return connection.prepare(`select "type", "name", coalesce(substr("sql", 1, ?), '') as "sql" from sqlite_schema
      where "name" not like 'sqlite!_stat_' escape '!' or "type" != 'table' limit ?`).all(mostLetters,mostParts).map(({type,name,sql:sql2})=>({type:String(type),name:String(name),sql:String(sql2).replace(/\s+/g," ").replace(/ ?([(),]) ?/g,"$1")}))}async function outdatedSince(db,dialect){if((await(dialect==="sqlite"?sql`select 1 from sqlite_master where "name" = 'migration'`:sql`select 1 from information_schema.tables where table_schema = current_schema() and table_name = 'migration'`).execute(db)).rows.length===0)return;let present=await db.selectFrom("migration").selectAll().orderBy("number").execute();return refuseNewer(present),migrations.some(step=>!present.some(row=>row.number===step.number))?present.at(-1)?.number:void 0}async function requireCurrentSchema(db){let present=await db.selectFrom("migration").selectAll().orderBy("number").execute();refuseNewer(present);let[missing]=migrations.filter(step=>!present.some(row=>row.number===step.number));if(missing)throw new SchemaFault(`the database is of an older mailboxd (migration ${missing.number}, ${missing.name}, is to come): start mailboxd, which brings it up to date`)}function refuseNewer(present){let newer=present.find(row=>row.breaking===1&&!migrations.some(known=>known.number===row.number));if(newer)throw new SchemaFault(`the database has migration ${newer.number} (${newer.name}) of a newer mailboxd; install that version or restore a backup`)}async function migrate(db,dialect,appliedAt){await execute(db,dialect,ledgerDdl);let present=await db.selectFrom("migration").selectAll().orderBy("number").execute();refuseNewer(present);let applied=[];for(let step of migrations)present.some(row=>row.number===step.number)||(await execute(db,dialect,step.sql),await step.fill?.(db),await db.insertInto("migration").values({number:step.number,name:step.name,breaking:step.breaking?1:0,appliedAt}).execute(),applied.push(step.number));return applied}async function execute(db,dialect,script){for(let statement of ddlFor(dialect,script).split(/;\s*$/m))statement.trim()&&await sql.raw(statement).execute(db)}async function openStore(location,clock,beforeMigration=async()=>{},meter=noMeter){let store=/^postgres(ql)?:\/\//.test(location)?(await import("./postgres-store-7ZMDP5EM.js")).postgresStore(location,clock):sqliteStore(location,clock,meter);try{let lastStep=await outdatedSince(store.read,store.dialect);lastStep!==void 0&&(store.dialect==="sqlite"&&requireOursAlone(location),await beforeMigration(lastStep)),await store.write(db=>migrate(db,store.dialect,clock.now().toISOString()))}catch(error){throw await store.close(),error}return store}function requireOursAlone(path){let{found,mayRun}=findStrangeSchema(path);if(mayRun)throw new SchemaFault(`the database is not brought up to date, for it has what mailboxd did not make: ${found.join("; ")}. Drop that, or restore a backup`)}function openReader(path){let{db,close}=openSqliteReader(path);return{read:db,close}}function sqliteStore(path,clock,meter){let writer=openSqliteWriter(path),reader=openSqliteFollower(path,writer),listeners=createListeners(),target={...writer,exec(statement){statement==="begin immediate"&&reader.refresh(),writer.exec(statement),statement==="commit"&&reader.refresh()}},failed=Promise.withResolvers(),group=createGroupCommit(target,clock,{committed:listeners.tell,failed:failed.resolve,transacted(writes,tookMs){meter.observe("store_batch_writes",writes),meter.observe("store_transaction_seconds",tookMs/1e3)},synced:tookMs=>meter.observe("store_sync_seconds",tookMs/1e3)});return{dialect:"sqlite",read:reader.db,version:reader.version,write:group.write,writeUnsynced:group.writeUnsynced,onCommit:listeners.on,failed:failed.promise,keepLog({lookMs,logBytes,idleMs},told){writer.leaveCheckpoints(logBytes);let bounds={logBytes,idleLooks:Math.ceil(idleMs/lookMs)};return startCheckpoints({path,bounds,lookMs},state=>{state.lost!==null&&group.fail(new Error(state.lost)),told(state)})},keepIndex(told){let options={name:"index",workerData:{path},resourceLimits:{maxYoungGenerationSizeMb:8}};return keepThread(()=>new Worker2(threadEntry("store/index-thread"),options),told,why=>told({why}))},async forgetOverwrittenSecrets(){await group.idle(),reader.refresh(),writer.rewrite()},async compact(){await group.write(optimizeIndex),await group.idle(),reader.refresh(),writer.rewrite()},async close(){await group.idle(),reader.close(),writer.close()}}}var databasePath=dataDir=>join(dataDir,"mailboxd.sqlite");async function openRows(parts){let{config,clock,ids,log,meter=noMeter}=parts;await mkdir(config.data_dir,{recursive:!0,mode:448});let beforeMigration=async lastStep=>{if(!parts.mayMigrate)throw new SchemaFault("the database is of an older mailboxd than this program: start mailboxd, which brings it up to date, or use the older mailboxctl");let{keepBeforeUpgrade}=await import("./upgrade-K3ZA2LF5.js");await keepBeforeUpgrade(config.data_dir,lastStep,log)},store=await openStore(databasePath(config.data_dir),clock,beforeMigration,meter);return{config,clock,ids,log,meter,store}}export{parseEndpoint,formatEndpoint,defaultBaseUrl,parseSocket,init_endpoint,readBucketUrl,formats,init_format,noMeter,createDistantMeter,findStrangeSchema,requireCurrentSchema,openStore,openReader,databasePath,openRows};
