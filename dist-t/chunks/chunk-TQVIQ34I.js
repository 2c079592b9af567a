import { createRequire as bundleRequire } from 'node:module';
const require = bundleRequire(import.meta.url), __filename = import.meta.filename, __dirname = import.meta.dirname;
import{deleteDraft,deleteDraftAttachments,findDraftAttachment}from"./chunk-EGGCOLYH.js";import{deleteFromThread}from"./chunk-B6IKZ2LH.js";import{names,rawOfName}from"./chunk-QBSPYVBY.js";import{findDamage}from"./chunk-RDRUB4BQ.js";import{openBlobs}from"./chunk-BRJZS35E.js";import{findThread}from"./chunk-EOKDXMHI.js";import{createLog,logStyle}from"./chunk-ERVEEXCK.js";import{findStrangeSchema,noMeter,openReader,requireCurrentSchema}from"./chunk-7MSWCO4U.js";import{sql}from"./chunk-LFR5QLCK.js";import{isoAfter,systemClock}from"./chunk-PG3OFGN6.js";import{limits}from"./chunk-UMSCINIV.js";import{readdir,stat}from"node:fs/promises";import{join}from"node:path";import{setTimeout as pause}from"node:timers/promises";var waiting=(table,kind,states)=>`
  select one."id" as "subject", 'is ' || one."state" || ' and not in the queue' as "found"
  from "${table}" one left join "queueEntry" entry on entry."subjectId" = one."id" and entry."kind" = '${kind}'
  where one."state" in (${states}) and entry."id" is null
  union all
  select one."id", 'is ' || one."state" || ' and in the queue'
  from "${table}" one join "queueEntry" entry on entry."subjectId" = one."id" and entry."kind" = '${kind}'
  where one."state" not in (${states})`,counter=(name,count)=>`
  select "id" as "subject", '${name} is ' || "${name}" || ', there are ' || "count" as "found" from (
    select inbox."id", inbox."${name}", (${count}) as "count" from "inbox" inbox where inbox."deletedAt" is null
  ) counted where "${name}" != "count"`,invariants=[{name:"delivery",promise:"every delivery has ended or waits in the queue",sql:waiting("delivery","delivery","'queued', 'deferred', 'held'")},{name:"event",promise:"every event that a webhook is to be told is told, given up, or waits in the queue",sql:waiting("webhookDelivery","webhook","'queued', 'deferred'")},{name:"draft",promise:"every scheduled draft waits in the queue, and no other",sql:`
  select draft."id" as "subject", 'is scheduled and not in the queue' as "found"
  from "draft" draft left join "queueEntry" entry on entry."subjectId" = draft."id" and entry."kind" = 'draft'
  where draft."status" = 'scheduled' and entry."id" is null
  union all
  select draft."id", 'is ' || draft."status" || ' and in the queue'
  from "draft" draft join "queueEntry" entry on entry."subjectId" = draft."id" and entry."kind" = 'draft'
  where draft."status" != 'scheduled'`},{name:"queue",promise:"what waits in the queue is there, and waits once",sql:`
  select entry."id" as "subject", 'is of ' || entry."kind" || ' ' || entry."subjectId" || ', which is not there' as "found"
  from "queueEntry" entry
  where not exists (select 1 from "delivery" where "delivery"."id" = entry."subjectId")
    and not exists (select 1 from "webhookDelivery" where "webhookDelivery"."id" = entry."subjectId")
    and not exists (select 1 from "draft" where "draft"."id" = entry."subjectId")
  union all
  select "subjectId", 'is ' || count(*) || ' times in the queue' from "queueEntry" group by "subjectId" having count(*) > 1`},{name:"status",promise:"a message is pending as long as a delivery of it has not ended, and not longer",sql:`
  select message."id" as "subject", 'is pending and nothing of it is under way' as "found" from "message" message
  where message."status" = 'pending' and not exists (
    select 1 from "delivery" where "delivery"."messageId" = message."id" and "delivery"."state" in ('queued', 'deferred', 'held')
  )`},{name:"received",promise:"every message that came and is not malicious has its event, as long as events are kept",sql:`
  select message."id" as "subject", 'has no event message.received' as "found" from "message" message
  where message."direction" = 'inbound' and message."verdict" != 'malicious' and message."createdAt" >= :since and message."id" not in (
    select "messageId" from "event" where "type" = 'message.received' and "messageId" is not null
  )`},{name:"inbound",promise:"an inbox counts the messages that came",sql:counter("inboundCount",`select count(*) from "message" where "message"."inboxId" = inbox."id" and "message"."direction" = 'inbound'`)},{name:"outbound",promise:"an inbox counts the messages that it sent",sql:counter("outboundCount",`select count(*) from "message" where "message"."inboxId" = inbox."id" and "message"."direction" = 'outbound'`)},{name:"threads",promise:"an inbox counts its threads",sql:counter("threadCount",'select count(*) from "thread" where "thread"."inboxId" = inbox."id"')},{name:"unread",promise:"an inbox counts its unread threads",sql:counter("unreadThreadCount",'select count(*) from "thread" where "thread"."inboxId" = inbox."id" and "thread"."isRead" = 0')},{name:"thread",promise:"a thread counts its messages, which are in its inbox, and has at least one",sql:`
  select "id" as "subject", 'messageCount is ' || "messageCount" || ', there are ' || "count" as "found" from (
    select thread."id", thread."messageCount",
      (select count(*) from "message" where "message"."threadId" = thread."id") as "count"
    from "thread" thread join "inbox" inbox on inbox."id" = thread."inboxId" and inbox."deletedAt" is null
  ) counted where "messageCount" != "count" or "count" = 0
  union all
  select message."id", 'is in another inbox than its thread ' || thread."id"
  from "message" message join "thread" thread on thread."id" = message."threadId"
  where message."inboxId" != thread."inboxId"`},{name:"pods",promise:"pods and account count their inboxes, and the account its pods, of which one is the default",sql:`
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
  select 'account', 'has ' || count(*) || ' default pods' from "pod" where "isDefault" = 1 having count(*) != 1`},{name:"domains",promise:"how many inboxes of a pod use a domain is counted",sql:`
  select "domainUse"."domain" as "subject", 'is used by ' || "inboxCount" || ' inboxes of pod ' || "podId" || ', there are others' as "found"
  from "domainUse" where "inboxCount" != (
    select count(*) from "inbox" where "inbox"."podId" = "domainUse"."podId" and "deletedAt" is null
      and substr("address", length("address") - length("domainUse"."domain")) = '@' || "domainUse"."domain"
  )`},{name:"usage",promise:"what an inbox did on a day is counted, if more of it was not deleted since",sql:`
  select message."inboxId" as "subject", 'did more on ' || substr(message."createdAt", 1, 10) || ' than was counted' as "found"
  from "message" message
  join "inbox" inbox on inbox."id" = message."inboxId" and inbox."isSystem" = 0 and inbox."deletedAt" is null
  left join "dailyUsage" counted on counted."inboxId" = message."inboxId" and counted."day" = substr(message."createdAt", 1, 10)
  where message."createdAt" > (select "appliedAt" from "migration" where "number" = 20)
  group by message."inboxId", substr(message."createdAt", 1, 10), counted."inbound", counted."outbound"
  having sum(case when message."direction" = 'inbound' then 1 else 0 end) > coalesce(counted."inbound", 0)
    or sum(case when message."direction" = 'outbound' then 1 else 0 end) > coalesce(counted."outbound", 0)`},{name:"raw",promise:"every message that came has its bytes, all of them, and no bytes are kept without a message",sql:`
  select message."id" as "subject", 'has no raw' as "found" from "message" message
  where (message."rawId" is null and message."direction" = 'inbound')
    or (message."rawId" is not null and not exists (select 1 from "raw" where "raw"."id" = message."rawId"))
  union all
  select "id", 'is of no message' from "raw" where not exists (select 1 from "message" where "message"."rawId" = "raw"."id")
  union all
  select "id", 'is to have ' || "sizeBytes" || ' bytes, has ' || octet_length("content") from "raw"
  where "content" is not null and octet_length("content") != "sizeBytes"`},{name:"reading",promise:"every message has what it says, and nothing is kept without a message",sql:`
  select message."id" as "subject", 'has no reading' as "found" from "message" message
  where message."readingId" is null or not exists (select 1 from "reading" where "reading"."id" = message."readingId")
  union all
  select "id", 'is of no message' from "reading" where not exists (select 1 from "message" where "message"."readingId" = "reading"."id")`},{name:"search",promise:"every message can be found, or is noted as to be indexed, and no words are kept of what was deleted",sql:`
  select message."id" as "subject", 'can not be found' as "found" from "message" message
  where message."id" not in (select "messageId" from "messageSearch")
    and message."id" not in (select "messageId" from "unindexedBody")
  union all
  select "messageId", 'is found and not there' from "messageSearch" where "messageId" not in (select "id" from "message")`},{name:"purged",promise:"of an inbox that was purged nothing is left",sql:`
  select inbox."id" as "subject", 'was purged and has messages' as "found" from "inbox" inbox
  where inbox."purgedAt" is not null and exists (select 1 from "message" where "message"."inboxId" = inbox."id")`}];async function findBroken(db,{sql:text},since,limit){let[before,after]=text.split(":since"),query=after===void 0?sql`${sql.raw(text)}`:sql`${sql.raw(before)}${since}${sql.raw(after)}`,{rows}=await sql`select "subject", "found" from (${query}) broken limit ${limit}`.execute(db);return rows}async function listKeptFiles(db,after,limit){let raws=db.selectFrom("raw").select(["id","sizeBytes"]).where("content","is",null).where("id",">",after).orderBy("id").limit(limit),drafted=db.selectFrom("draftAttachment").innerJoin("draft","draft.id","draftAttachment.draftId").select(["draftAttachment.id","draftAttachment.sizeBytes"]).where("draftAttachment.content","is",null).where("draft.status","!=","sent").where("draftAttachment.id",">",after).orderBy("draftAttachment.id").limit(limit);return[...await raws.execute(),...await drafted.execute()].sort((one,other)=>one.id<other.id?-1:1).slice(0,limit)}async function isFileKept(db,id){return await db.selectFrom("raw").select("id").where("id","=",id).where("content","is",null).executeTakeFirst()?!0:await db.selectFrom("draftAttachment").innerJoin("draft","draft.id","draftAttachment.draftId").select("draftAttachment.id").where("draftAttachment.id","=",id).where("draftAttachment.content","is",null).where("draft.status","!=","sent").executeTakeFirst()!==void 0}async function deleteOwnersOfFile(db,id){let messages=await db.selectFrom("message").select(["id","direction","rawId","threadId"]).where("rawId","=",id).execute();for(let{threadId,...message}of messages){let thread=await findThread(db,threadId);thread&&await deleteFromThread(db,thread,[message])}let drafted=await findDraftAttachment(db,id);drafted&&(await db.deleteFrom("queueEntry").where("subjectId","=",drafted.draftId).execute(),await deleteDraftAttachments(db,drafted.draftId),await deleteDraft(db,drafted.draftId))}async function verify(parts){let{dataDir,clock,told=()=>{}}=parts,database=join(dataDir,names.database),checks=invariants.length+2,{broken,orphans}=findDamage(database),damage=[...broken,...orphans].map(found=>({check:"integrity",promise:"the database is whole",subject:names.database,found}));if(broken.length>0)return damage;let strange=findStrangeSchema(database).found.map(found=>({check:"schema",promise:"the schema is what the migrations make",subject:names.database,found}));told("verify",1,checks);let{read,close}=openReader(database);try{await requireCurrentSchema(read);let since=isoAfter(clock.now(),-(parts.eventsKeptMs-36e5)),findings=[...damage,...strange];for(let[index,invariant]of invariants.entries()){let{name:check,promise}=invariant,rows=await findBroken(read,invariant,since,limits.verifyFindings);findings.push(...rows.map(one=>({check,promise,...one}))),told("verify",index+2,checks)}let blobs=await parts.openBlobs(read);try{return[...findings,...await findFileFaults(dataDir,read,blobs)]}finally{await blobs.close()}}finally{close()}}async function findFileFaults(dataDir,read,blobs){let stray=await findStrayFiles(dataDir,read);return[...(await findMissingFiles(blobs,read)).map(({id,found})=>({check:"files",promise:"every row that points to a file has it, with all of its bytes",subject:id,found})),...stray.map(subject=>({check:"files",promise:"every file is of a row",subject,found:"is of no row"}))].slice(0,limits.verifyFindings)}async function findMissingFiles(blobs,read){let missing=[],page,after="";do{page=await listKeptFiles(read,after,limits.sweepRows);for(let{id,sizeBytes}of page){let size=await blobs.sizeOf(id);if(size===sizeBytes||!await isFileKept(read,id))continue;let found=size===void 0?"has no file":`has ${size} bytes in place of ${sizeBytes}`;missing.push({id,found})}after=page.at(-1)?.id??after}while(page.length>0);return missing}async function findStrayFiles(dataDir,read){let suspects=await filesBelow(dataDir);for(let look=0;;look++){let stray=[];for(let name of suspects){let id=rawOfName(name);!(id!==void 0&&await isFileKept(read,id))&&await stat(join(dataDir,name)).catch(()=>{})&&stray.push(name)}if(stray.length===0||look===looks)return stray;suspects=stray,await pause(limits.verifyLookMs)}}var looks=3;async function filesBelow(dataDir){let root=join(dataDir,"raw"),folders=await readdir(root).catch(()=>[]);return(await Promise.all(folders.map(async folder=>(await readdir(join(root,folder))).map(name=>`raw/${folder}/${name}`)))).flat()}function blobsOf(config){let log=createLog("warn",void 0,logStyle("auto",void 0));return read=>openBlobs({config,clock:systemClock,log,meter:noMeter,read})}var toldMs=100;function createProgress(isShown){let toldAt=Number.NEGATIVE_INFINITY,isOpen=!1,show=isShown&&process.stderr.isTTY===!0;return{told(step,done,of){if(!show)return;let now=systemClock.monotonicMs();if(now-toldAt<toldMs)return;toldAt=now,isOpen=!0;let part=of>0?Math.floor(done/of*100):100;process.stderr.write(`\r\x1B[K${step} ${part} %`)},end(){isOpen&&process.stderr.write("\r\x1B[K"),isOpen=!1}}}export{listKeptFiles,isFileKept,deleteOwnersOfFile,verify,findMissingFiles,blobsOf,createProgress};
