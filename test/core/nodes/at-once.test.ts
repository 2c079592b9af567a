import t from 'tap'
import { createInbox, deleteInbox } from '../../../lib/core/account/inboxes.ts'
import { suspendInbox } from '../../../lib/core/account/suspension.ts'
import type { App, Networked } from '../../../lib/core/app/app.ts'
import { operator } from '../../../lib/core/app/caller.ts'
import { deliver } from '../../../lib/core/delivery/deliver.ts'
import { receive } from '../../../lib/core/inbound/receive.ts'
import { createReceiver } from '../../../lib/core/inbound/receiver.ts'
import { resolveRecipient } from '../../../lib/core/inbound/recipient.ts'
import { deleteMessage, deleteThread } from '../../../lib/core/mailbox/deletion.ts'
import { changeThread } from '../../../lib/core/mailbox/threads.ts'
import { handle } from '../../../lib/core/outbound/operators-hand.ts'
import { send } from '../../../lib/core/outbound/send.ts'
import { claim } from '../../support/claim.ts'
import { without } from '../../support/peers.ts'
import { attempt, contradictions, meet, outcomeOf, twoNodes } from '../../support/two-nodes.ts'

const skip = without('postgres')

let letters = 0

/** Mail from outside that comes to an address, answering what is named. */
const bring =
  (to: string, answers?: string) =>
  async (app: App): Promise<string[]> => {
    const n = ++letters
    const header = `From: bob@example.net\r\nMessage-ID: <m${n}@example.net>\r\nSubject: s${n}\r\n`
    const reply = answers === undefined ? '' : `In-Reply-To: ${answers}\r\n`
    return receive(createReceiver(app), {
      sessionId: String(n),
      mailFrom: 'bob@example.net',
      recipients: [await resolveRecipient(app, to)],
      content: { kind: 'memory', bytes: Buffer.from(`${header}${reply}\r\nHello\r\n`) },
      peer: { kind: 'local' },
    })
  }

const sendTo =
  (inboxId: string, to: string, key: string, more: { cc?: string[]; threadId?: string } = {}) =>
  (app: App) =>
    send(app, operator, inboxId, { to, subject: 's', body: 'b', ...more }, key)

/** A thread of one message, with what it is to be answered by. */
async function threadIn(app: App, address: string) {
  const [id] = await bring(address)(app)
  const row = await app.store.read
    .selectFrom('message')
    .select(['id', 'threadId', 'rfcMessageId'])
    .where('id', '=', id!)
    .executeTakeFirstOrThrow()
  return { id: row.id, threadId: row.threadId, messageId: row.rfcMessageId! }
}

t.test('two nodes at once: what is in an inbox and what it counts agree', { skip }, async t => {
  const nodes = await twoNodes(t)
  const [app] = nodes
  const both = [nodes, nodes.toReversed() as unknown as typeof nodes] as const
  const ann = await createInbox(app, operator, { mailboxName: 'ann' })
  type Kind = (thread: Awaited<ReturnType<typeof threadIn>>) => (app: App) => Promise<unknown>
  const kinds: Record<string, Kind> = {
    'mail comes': () => bring(ann.address),
    'an answer comes': ({ messageId }) => bring(ann.address, messageId),
    'it is answered': ({ threadId }) => sendTo(ann.id, 'bob@example.net', `k${++letters}`, { threadId }),
    'it is read':
      ({ threadId }) =>
      app =>
        changeThread(app, operator, threadId, { isRead: true }),
    'the message is deleted':
      ({ id }) =>
      app =>
        deleteMessage(app, operator, id),
    'the thread is deleted':
      ({ threadId }) =>
      app =>
        deleteThread(app, operator, threadId),
  }
  const all = Object.entries(kinds)
  for (const [index, [name, one]] of all.entries()) {
    for (const [other, two] of all.slice(index)) {
      const thread = await threadIn(app, ann.address)
      const outcomes = await meet(both[letters % 2]!, one(thread), two(thread))
      const faults = outcomes.filter(said => typeof said === 'string' && said !== 'not_found')
      t.strictSame(faults, [], `${name}, and ${other}`)
    }
    t.strictSame(await contradictions(app), [], `${name}, and all else: what is there agrees`)
  }
})

t.test('two nodes at once: what comes to an inbox that is deleted', { skip }, async t => {
  const nodes = await twoNodes(t)
  const [app] = nodes
  for (const isFirst of [true, false]) {
    const { id, address } = await createInbox(app, operator, {})
    await bring(address)(app)
    const remove = (app: App) => deleteInbox(app, operator, id)
    const [one, two] = isFirst
      ? await meet(nodes, remove, bring(address))
      : await meet(nodes, bring(address), remove)
    if (isFirst) t.equal(two, 550, 'refused')
    else t.ok(Array.isArray(one), 'taken before')
    const rows = await app.store.read.selectFrom('message').select('id').where('inboxId', '=', id).execute()
    t.equal(rows.length, isFirst ? 1 : 2)
    const key = `late ${isFirst}`
    t.equal(await outcomeOf(sendTo(id, 'bob@example.net', key)(app)), 'not_found')
  }
  const { id } = await createInbox(app, operator, {})
  const refused = await meet(nodes, app => suspendInbox(app, id, null), sendTo(id, 'b@example.net', 'key'))
  t.equal(refused[1], 'inbox_suspended')
  const { id: other } = await createInbox(app, operator, {})
  await meet(nodes, sendTo(other, 'b@example.net', 'other'), app => suspendInbox(app, other, null))
  const states = await app.store.read
    .selectFrom('delivery')
    .innerJoin('message', 'message.id', 'delivery.messageId')
    .select('delivery.state')
    .where('message.inboxId', '=', other)
    .execute()
  t.strictSame(states, [{ state: 'held' }], 'what was sent before is held')
})

t.test('two nodes at once: the last place, and the same key', { skip }, async t => {
  const nodes = await twoNodes(t, 'plan = "free"\n[plan_free]\ncold_recipients_at_first = 1')
  const [app] = nodes
  const { id } = await createInbox(app, operator, {})
  const other = await createInbox(app, operator, {})
  const last = await meet(nodes, sendTo(id, 'a@example.net', 'a'), sendTo(id, 'b@example.net', 'b'))
  t.match(last, [{ status: 'pending' }, 'cold_outreach_limit'])
  const again = await createInbox(app, operator, {})
  const [one, two] = await meet(
    nodes,
    sendTo(again.id, 'a@example.net', 'same'),
    sendTo(again.id, 'a@example.net', 'same'),
  )
  t.match(one, { status: 'pending' })
  t.strictSame(two, one, 'one send, one answer')
  const elsewhere = await meet(
    nodes,
    sendTo(again.id, 'a@example.net', 'elsewhere'),
    sendTo(other.id, 'a@example.net', 'elsewhere'),
  )
  t.match(elsewhere, [{ status: 'pending' }, 'idempotency_key_conflict'])
  t.strictSame(await contradictions(app), [])
})

t.test('two nodes at once: the last deliveries of a message', { skip }, async t => {
  const nodes = await twoNodes(t)
  const [app] = nodes
  const { id } = await createInbox(app, operator, {})
  const claimed = async () => {
    const key = `k${++letters}`
    const sent = await sendTo(id, 'a@example.net', key, { cc: ['b@example.net'] })(app)
    const entries = await claim(app.queue, 'delivery', 2)
    t.equal(entries.length, 2)
    return { messageId: sent.messageId, entries }
  }
  const statusOf = async (messageId: string) =>
    (
      await app.store.read
        .selectFrom('message')
        .select('status')
        .where('id', '=', messageId)
        .executeTakeFirstOrThrow()
    ).status
  const carry = (entry: Parameters<typeof deliver>[1]) => (app: App) =>
    deliver(app as Networked, entry, attempt)
  const sent = await claimed()
  await meet(nodes, carry(sent.entries[0]!), carry(sent.entries[1]!))
  t.equal(await statusOf(sent.messageId), 'sent')
  for (const isFirst of [true, false]) {
    const { messageId, entries } = await claimed()
    // Given back: what is under way can not be cancelled.
    await app.store.write(db => app.queue.giveBack(db, entries[1]!))
    const cancel = (app: App) => handle(app, 'cancel', { ids: [entries[1]!.subjectId] })
    if (isFirst) await meet(nodes, cancel, carry(entries[0]!))
    else await meet(nodes, carry(entries[0]!), cancel)
    t.equal(await statusOf(messageId), 'failed')
  }
  t.strictSame(await contradictions(app), [])
})

t.test('what is changed all the time can be written by who writes alone', { skip }, async t => {
  const [one, two] = await twoNodes(t)
  const { id, address } = await createInbox(one, operator, {})
  let isOver = false
  const flood = async (app: App) => {
    while (!isOver) await bring(address)(app)
  }
  // Waited for from the begin: one may be refused before who deletes the inbox knows that it is gone.
  const floods = Promise.allSettled([one, two].flatMap(app => [flood(app), flood(app), flood(app)]))
  const thread = await threadIn(one, address)
  for (const isRead of [true, false, true]) await changeThread(two, operator, thread.threadId, { isRead })
  await deleteMessage(two, operator, thread.id)
  await deleteInbox(two, operator, id).finally(() => {
    isOver = true
  })
  const refused = await floods
  t.ok(refused.every(one => one.status === 'fulfilled' || one.reason.code === 550))
  t.strictSame(await contradictions(one), [])
})
