import { type KyselyPlugin, type RootOperationNode, sql } from 'kysely'
import t from 'tap'
import { giveFeedback } from '../../lib/core/account/feedback.ts'
import { changeInbox, createInbox, deleteInbox, listInboxes } from '../../lib/core/account/inboxes.ts'
import { createKey, findCaller, listAllKeys, listKeys, revokeKey } from '../../lib/core/account/keys.ts'
import { addMember, listMembers, removeMember } from '../../lib/core/account/members.ts'
import { changePod, createPod, deletePod, getPod, listPods } from '../../lib/core/account/pods.ts'
import { purgeDeletedInboxes } from '../../lib/core/account/purge.ts'
import { resumeInbox, suspendInbox } from '../../lib/core/account/suspension.ts'
import { operator } from '../../lib/core/app/caller.ts'
import { isTaken, takeClaim } from '../../lib/core/domains/claim.ts'
import { createDomain, deleteDomain, getDomainByName, holdDomain } from '../../lib/core/domains/domains.ts'
import { listEvents as listAllEvents } from '../../lib/core/events/list.ts'
import { forwardIfUndelivered } from '../../lib/core/forwarding/copy.ts'
import { noteForwardFailure, noteForwardOutcome } from '../../lib/core/forwarding/outcome.ts'
import { confirmForwarding, expireForwardConfirmations } from '../../lib/core/forwarding/question.ts'
import { receive } from '../../lib/core/inbound/receive.ts'
import { createReceiver } from '../../lib/core/inbound/receiver.ts'
import { resolveRecipient } from '../../lib/core/inbound/recipient.ts'
import { readLoad } from '../../lib/core/load.ts'
import { listMessageDeliveries } from '../../lib/core/mailbox/deliveries.ts'
import { listInboxMessages } from '../../lib/core/mailbox/messages.ts'
import { openRaw } from '../../lib/core/mailbox/raws.ts'
import { changeThread, getThreadMessages, listThreads } from '../../lib/core/mailbox/threads.ts'
import { releaseResumed } from '../../lib/core/outbound/hold.ts'
import { listQueue } from '../../lib/core/outbound/operators-hand.ts'
import { send } from '../../lib/core/outbound/send.ts'
import { getUsage } from '../../lib/core/quota/usage.ts'
import { testInboxWebhook } from '../../lib/core/webhooks/call.ts'
import { listEventDeliveries, redeliverEvent, redeliverFailed } from '../../lib/core/webhooks/log.ts'
import {
  deleteAccountWebhook,
  rotateAccountSecret,
  rotateInboxSecret,
  setAccountWebhook,
} from '../../lib/core/webhooks/settings.ts'
import { createWebhooks } from '../../lib/core/webhooks/tell.ts'
import { createQueue } from '../../lib/queue/queue.ts'
import { filterActiveApiKeys } from '../../lib/store/api-keys.ts'
import { deleteDaysBefore } from '../../lib/store/daily-usage.ts'
import { listDeliveries, wasTaken } from '../../lib/store/deliveries.ts'
import type { Db, WriteDb } from '../../lib/store/dialect/dialect.ts'
import { gatherRows, noRows } from '../../lib/store/dialect/left-rows.ts'
import { findDomainById } from '../../lib/store/domains.ts'
import { deleteEventsBefore, listEvents, listPayloads } from '../../lib/store/events.ts'
import { deleteIdempotencyBefore } from '../../lib/store/idempotency.ts'
import { writeLeft } from '../../lib/store/last-statements.ts'
import { listNewestInbound, listShownMessages } from '../../lib/store/messages.ts'
import type { Store } from '../../lib/store/open.ts'
import { listDueEntries, listDueOfPod, listDuePods } from '../../lib/store/queue-claims.ts'
import { listLeasedEntries, renameDestination } from '../../lib/store/queue-entries.ts'
import {
  dropUnindexed,
  listUnindexed,
  retryPassedOver,
  stillUnindexed,
} from '../../lib/store/unindexed-bodies.ts'
import { claim } from '../support/claim.ts'
import { mailedLink } from '../support/confirmation.ts'
import { membersOf } from '../support/members.ts'
import { openDoor } from '../support/smtp-door.ts'
import { watchedDb } from '../support/watched-db.ts'

const page = { limit: 10, offset: 0 }

t.test('no query that a request, a session or a sweep can cause scans a table', async t => {
  const nodes: RootOperationNode[] = []
  const spy: KyselyPlugin = {
    transformQuery({ node }) {
      nodes.push(node)
      return node
    },
    transformResult: async ({ result }) => result,
  }
  const { app: real } = await openDoor(t)
  const watched = <Handle extends Db>(db: Handle) => watchedDb(db, spy)
  const inWrite =
    <T>(work: (db: WriteDb) => Promise<T>) =>
    async (db: WriteDb) => {
      const [on, left] = [watched(db), noRows()]
      gatherRows(on, left)
      const value = await work(on)
      await writeLeft(on, left)
      return value
    }
  const store: Store = {
    ...real.store,
    read: watched(real.store.read),
    write: work => real.store.write(inWrite(work)),
    writeHolding: (held, work) => real.store.writeHolding(held, inWrite(work)),
    writeUnsynced: work => real.store.writeUnsynced(inWrite(work)),
  }
  const { clock, ids } = real
  const queue = createQueue({ store, clock, ids, members: membersOf('one'), random: Math.random })
  const app: typeof real = Object.create(real, { store: { value: store }, queue: { value: queue } })

  const pod = await createPod(app, { clientId: 'c' })
  await changePod(app, operator, 'c', { name: 'n' })
  await getPod(app, operator, pod.id)
  await listPods(app, operator, page)
  const ann = await createInbox(app, operator, { mailboxName: 'ann' })
  const bea = await createInbox(app, operator, { podId: 'c' })
  await changeInbox(app, operator, ann.id, { displayName: 'Ann' })
  await addMember(app, { address: 'member@example.org' })
  await listMembers(app, page)
  await changeInbox(app, operator, ann.id, { forwardTo: 'other@example.org' })
  const link = await mailedLink(app, 'other@example.org')
  await confirmForwarding(app, new URL(`http://x${link}`).searchParams.get('token')!)
  await removeMember(app, 'member@example.org')
  await createInbox(app, operator, { clientId: 'mine' })
  await listInboxes(app, operator, { address: ann.address }, page)
  await getUsage(app, operator, {})
  await getUsage(app, { keyId: 'k', podId: pod.id, inboxId: null }, { group_by: 'inbox' })
  await getUsage(app, operator, { inboxId: ann.address })
  await store.write(db => deleteDaysBefore(db, '2026-01-01', 10))
  await giveFeedback(app, operator, { type: 'bug', message: 'm' })
  await listInboxes(app, operator, {}, page)
  await listInboxes(app, operator, { withSystem: true }, page)
  await listInboxes(app, operator, { pod: 'c' }, page)
  const key = await createKey(app, operator, { inbox: ann.id }, null)
  await findCaller(app, key.token)
  await listKeys(app, operator, { inbox: ann.id })
  await listAllKeys(app, 10)
  await revokeKey(app, operator, { inbox: ann.id }, key.id)
  const raw = Buffer.from('From: b@example.net\r\nIn-Reply-To: <x@example.net>\r\nSubject: s\r\n\r\nx\r\n')
  const peer = {
    kind: 'smtp',
    remoteAddress: '127.0.0.1',
    helo: 'h',
    protocol: 'ESMTP',
    tls: undefined,
  } as const
  const recipients = [await resolveRecipient(app, ann.address)]
  const content = { kind: 'memory', bytes: raw } as const
  const [id] = await receive(createReceiver(app), {
    sessionId: 's',
    mailFrom: 'b@example.net',
    recipients,
    content,
    peer,
  })
  const [copy] = await listDeliveries(app.store.read, id!)
  await app.store.write(async db => {
    await forwardIfUndelivered(app, db, id!)
    await noteForwardFailure(
      app,
      db,
      copy!,
      {
        result: 'permanent',
        code: 550,
        enhanced: '5.1.1',
        text: 'no such user',
        durationMs: 0,
      },
      'mail',
    )
    await noteForwardOutcome(app, db, copy!, { result: 'delivered', text: '', durationMs: 0 })
    await wasTaken(db, copy!.id)
  })
  await expireForwardConfirmations(app)
  const { rows } = await listThreads(app, operator, ann.id, { isRead: false }, page)
  await listThreads(app, operator, ann.id, { isRead: undefined }, page)
  await getThreadMessages(app, operator, rows[0]!.id)
  await changeThread(app, operator, rows[0]!.id, { is_read: true })
  await listInboxMessages(app, operator, ann.id, { direction: 'inbound' }, page)
  await listInboxMessages(app, operator, ann.id, { direction: undefined }, page)
  await openRaw(app, operator, id!, { withTrace: true })
  const sent = await send(app, operator, ann.id, { to: bea.address, body: 'x', threadId: rows[0]!.id }, 'key')
  await listMessageDeliveries(app, operator, sent.messageId)
  const { mailFrom, id: deliveryId } = (await listDeliveries(real.store.read, sent.messageId))[0]!
  const returned = [await resolveRecipient(app, mailFrom!)]
  const notice = Buffer.from('X-Failed-Recipients: x@y.example\r\n\r\n550 no\r\n')
  const notification = { kind: 'memory', bytes: notice } as const
  await receive(createReceiver(app), {
    sessionId: 's',
    mailFrom: '',
    recipients: returned,
    content: notification,
    peer,
  })
  const about = { inboxId: ann.id, messageId: sent.messageId, type: 'message.complained', after: deliveryId }
  await listPayloads(store.read, about)
  await suspendInbox(app, ann.id, null)
  await resumeInbox(app, ann.id)
  await releaseResumed(app)
  await suspendInbox(app, ann.id, null)
  const domain = await createDomain(app, operator, { domain: 'acme.example', podId: 'c' })
  await getDomainByName(app, 'acme.example')
  await store.write(async db => {
    const row = (await findDomainById(db, domain.id))!
    await isTaken(db, row)
    await takeClaim(db, row, row.createdAt)
  })
  await holdDomain(app, 'acme.example')
  await deleteDomain(app, operator, domain.id)
  await listQueue(app, 10)
  for (const lane of ['fast', 'slow'] as const) {
    const part = { kind: 'delivery', lane, isKnown: 0, now: '2030-01-01T00:00:00.000Z' } as const
    await listDueEntries(store.read, part, 5)
    await listDuePods(store.read, part, '', 5)
    await listDueOfPod(store.read, part, 'c', ['full.example'], { limit: 5, window: 100 })
  }
  await store.write(async db => {
    await queue.note(db, 'there.example', 'fails', 'down')
    await queue.postpone(db, 'there.example', 1_000, 'not tried')
    await queue.note(db, 'there.example', 'answers', '')
    await renameDestination(db, { from: 'there.example', destination: 'mx:there', limit: 5 })
  })
  await queue.releaseThoseThatSaid('down')
  await listLeasedEntries(store.read, 'one')
  await filterActiveApiKeys(store.read, [key.id])
  await listUnindexed(store.read, { count: 10, bytes: 1000 })
  await store.write(async db => {
    await stillUnindexed(db, [id!])
    await dropUnindexed(db, [id!])
    await retryPassedOver(db)
  })
  await listShownMessages(store.read, [id!])
  await listNewestInbound(store.read, ann.id, 100)
  for (const podId of [pod.id, null]) {
    for (const inboxId of [ann.id, null]) {
      for (const type of ['message.received', undefined]) {
        await listEvents(store.read, { podId, inboxId, type, after: id, until: id! }, 10)
      }
    }
  }
  await setAccountWebhook(app, 'https://hooks.example.net/')
  await changeInbox(app, operator, ann.id, { webhookUrl: 'https://hooks.example.net/ann' })
  await rotateInboxSecret(app, operator, ann.id)
  await rotateAccountSecret(app)
  await testInboxWebhook(app, operator, ann.id).catch(() => {})
  for (const event of await listAllEvents(app, operator, {}, 100)) {
    await redeliverEvent(app, operator, event.event_id)
    await listEventDeliveries(app, operator, event.event_id)
  }
  const webhooks = createWebhooks(app, Math.random)
  for (const entry of await claim(queue, 'webhook', 10))
    await webhooks.tell(entry).catch(error => t.match(error, { name: 'LeaseLost' }))
  await redeliverFailed(app, { after: '', since: '' })
  const next = createQueue({ store, clock, ids, members: membersOf('one', 2), random: Math.random })
  await next.recover()
  await readLoad(app)
  await deleteAccountWebhook(app)
  await deleteInbox(app, operator, bea.id)
  await deleteInbox(app, operator, ann.id)
  await deletePod(app, operator, 'c')
  while ((await purgeDeletedInboxes(app)) > 0);
  await store.write(db => deleteEventsBefore(db, '2100-01-01T00:00:00.000Z', 10))
  await store.write(db => deleteIdempotencyBefore(db, '2000-01-01T00:00:00.000Z', 10))

  // Tables of one row, or of a handful; what a bounded query found ("some"); rows that are given; and the full-text index, which says SCAN for every use of its own indexes.
  const small =
    /^SCAN "?(account|migration|domain|secretKey|standingHold)"?|^SCAN (some|given|\d+-ROW VALUES CLAUSE)$|^SCAN messageSearch VIRTUAL TABLE INDEX/
  const executor = real.store.read.getExecutor()
  const seen = new Set<string>()
  for (const node of nodes) {
    const { sql: text, parameters } = executor.compileQuery(node, { queryId: 'plan' })
    if (seen.has(text)) continue
    seen.add(text)
    const query = sql`explain query plan ${sql.raw(text.replaceAll('?', 'null'))}`
    const plan = await real.store.write(db => query.execute(db))
    for (const { detail } of plan.rows as { detail: string }[]) {
      const isScan = /^SCAN (?!\(|CONSTANT)/.test(detail) && !/USING (COVERING )?INDEX/.test(detail)
      if (isScan && !small.test(detail)) t.fail(`${detail}: ${text}`, { parameters })
    }
  }
  t.ok(seen.size > 40, `${seen.size} different queries were looked at`)
})
