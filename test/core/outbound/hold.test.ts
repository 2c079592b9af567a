import t, { type Test } from 'tap'
import { createInbox } from '../../../lib/core/account/inboxes.ts'
import { resumeInbox, suspendInbox } from '../../../lib/core/account/suspension.ts'
import { type Caller, operator } from '../../../lib/core/app/caller.ts'
import { deliver } from '../../../lib/core/delivery/deliver.ts'
import { listMessageDeliveries } from '../../../lib/core/mailbox/deliveries.ts'
import { holdSome, releaseResumed } from '../../../lib/core/outbound/hold.ts'
import { listQueue } from '../../../lib/core/outbound/operators-hand.ts'
import { send } from '../../../lib/core/outbound/send.ts'
import { createQueue } from '../../../lib/queue/queue.ts'
import type { Held } from '../../../lib/store/dialect/held.ts'
import { startPeer } from '../../courier/smtp/scripted-peer.ts'
import { appOn } from '../../support/app-on.ts'
import { carryAll } from '../../support/carry-all.ts'
import { claim } from '../../support/claim.ts'
import { onEveryDatabase } from '../../support/databases.ts'
import { startDns } from '../../support/dns.ts'
import { membersOf } from '../../support/members.ts'
import { freePort } from '../../support/ports.ts'
import { openDoor } from '../../support/smtp-door.ts'

const key: Caller = { keyId: '01890000-0000-7000-8000-000000000000', podId: null, inboxId: null }

async function setUp(t: Test) {
  const mxPort = await freePort('127.0.0.9')
  const dns = await startDns({ 'theirs.example': { MX: [{ priority: 1, exchange: 'mx.theirs.example' }] } })
  t.teardown(() => dns.close())
  dns.set('mx.theirs.example', 'A', ['127.0.0.9'])
  const replies: string[] = []
  const peer = await startPeer('127.0.0.9', mxPort, { RCPT: () => replies.shift() ?? '250 ok' })
  t.teardown(() => peer.close())
  const server = await openDoor(t, { dns: dns.server, mxPort, toml: '[delivery]\nmode = "mx"' })
  const { app } = server
  const inbox = await server.inbox('ann')
  const sendTo = async (...to: string[]) =>
    (await send(app, operator, inbox, { to: to[0]!, cc: to.slice(1), subject: 's', body: 'b' }, to.join()))
      .messageId
  const states = async (messageId: string) =>
    (await listMessageDeliveries(app, operator, messageId)).map(one => one.state)
  return { ...server, inboxId: inbox, peer, replies, sendTo, states }
}

t.test('what a suspended inbox has in the queue is held, and goes on when it is resumed', async t => {
  const { app, inboxId, peer, sendTo, states, inbox } = await setUp(t)
  const other = await inbox('bea')
  const waiting = await sendTo('a@theirs.example', 'b@theirs.example')
  const within = await sendTo('bea@ours.example')
  const others = await send(app, operator, other, { to: 'c@theirs.example', subject: 's', body: 'b' }, 'o')
  await suspendInbox(app, inboxId, 'spam')
  t.strictSame(await states(waiting), ['held', 'held'])
  t.strictSame(await states(within), ['held'], 'also to an inbox here')
  const lines = await listQueue(app, 10)
  t.strictSame(lines.map(line => line.state).sort(), ['held', 'held', 'held', 'waiting'])
  t.match(
    (await listMessageDeliveries(app, operator, waiting))[0],
    { nextAttemptAt: null, attempts: 0 },
    'as GET …/deliveries shows it',
  )
  await carryAll(app)
  t.equal(peer.messages.length, 1, 'that of another inbox')
  t.strictSame(await states(others.messageId), ['delivered'])

  await app.store.write(db =>
    db.updateTable('queueEntry').set({ expiresAt: '2026-01-01T00:00:00.000Z' }).execute(),
  )
  await resumeInbox(app, inboxId)
  t.strictSame(await states(waiting), ['queued', 'queued'])
  await carryAll(app)
  t.strictSame([await states(waiting), await states(within)], [['delivered', 'delivered'], ['delivered']])
  t.equal(peer.messages.length, 3, 'it was not given up for the time it was held')
  const row = await app.store.read.selectFrom('inbox').select('hasHeld').where('id', '=', inboxId).execute()
  t.strictSame(row, [{ hasHeld: 0 }])
})

t.test('what is held goes on when the process that resumed its inbox ended before', async t => {
  const { app, inboxId, sendTo, states } = await setUp(t)
  const waiting = await sendTo('a@theirs.example', 'b@theirs.example')
  await suspendInbox(app, inboxId, 'spam')
  await app.store.write(db => db.updateTable('inbox').set({ suspendedAt: null }).execute())
  t.equal(await releaseResumed(app), 2)
  t.strictSame(await states(waiting), ['queued', 'queued'])
  t.equal(await releaseResumed(app), 0)
})

t.test('what is under way ends as it ends', async t => {
  const { app, inboxId, replies, sendTo, states } = await setUp(t)
  for (const [reply, state, attempts] of [
    ['250 ok', 'delivered', 1],
    ['550 5.1.1 nobody', 'failed', 1],
    ['451 4.7.1 later', 'held', 1],
  ] as const) {
    const id = await sendTo(`${state}@theirs.example`)
    const [entry] = await claim(app.queue, 'delivery')
    // The suspension comes when the server is being spoken to.
    const courier = {
      ...app.courier,
      carry: async (...given: Parameters<typeof app.courier.carry>) => {
        await suspendInbox(app, inboxId, null)
        t.strictSame(await states(id), ['queued'])
        return app.courier.carry(...given)
      },
    }
    replies.push(reply)
    await deliver(Object.create(app, { courier: { value: courier } }), entry!)
    t.strictSame(await states(id), [state])
    t.equal((await listMessageDeliveries(app, operator, id))[0]?.attempts, attempts)
    t.strictSame(await claim(app.queue, 'delivery'), [])
    await resumeInbox(app, inboxId)
    if (state === 'held') t.strictSame(await states(id), ['deferred'])
  }
})

t.test('what is put off is not held while the inbox may send', async t => {
  const { app, replies, sendTo, states } = await setUp(t)
  const id = await sendTo('later@theirs.example')
  replies.push('451 4.7.1 later')
  await carryAll(app)
  t.strictSame(await states(id), ['deferred'])
  t.match(await listQueue(app, 10), [{ state: 'waiting', attempts: 1 }])
})

t.test('what comes up before it is held is held then, without an attempt', async t => {
  const { app, inboxId, peer, sendTo, states } = await setUp(t)
  const id = await sendTo('a@theirs.example')
  const [entry] = await claim(app.queue, 'delivery')
  await suspendInbox(app, inboxId, null)
  await deliver(app, entry!)
  t.strictSame(await states(id), ['held'])
  t.equal(peer.messages.length, 0)
  const queued = await app.store.read.selectFrom('queueEntry').selectAll().execute()
  t.match(queued, [{ lane: 'held', attempts: 0, leasedBy: null }])
  t.strictSame(
    await app.store.read.selectFrom('attempt').selectAll().execute(),
    [],
    'nothing stands in the log of attempts',
  )
  // The process that resumes it ends before the queue goes on.
  await app.store.write(db => db.updateTable('inbox').set({ suspendedAt: null }).execute())
  t.equal(await releaseResumed(app), 1)
  t.equal(await releaseResumed(app), 0)
  await carryAll(app)
  t.strictSame(await states(id), ['delivered'])
})

onEveryDatabase('many are held and released in bounded steps', async (t, store) => {
  const plain = await appOn(t, store, '')
  const queue = createQueue({
    store,
    clock: plain.clock,
    ids: plain.ids,
    members: membersOf('n'),
    random: () => 0.5,
  })
  let changed: number[] = []
  const count = async () => {
    const { held } = await store.read
      .selectFrom('delivery')
      .select(eb => eb.fn.countAll<number>().as('held'))
      .where('state', '=', 'held')
      .executeTakeFirstOrThrow()
    return Number(held)
  }
  type Work = Parameters<typeof store.write>[0]
  const noting = async <T>(write: () => Promise<T>) => {
    const before = await count()
    const result = await write()
    changed.push(Math.abs((await count()) - before))
    return result
  }
  const app: typeof plain = Object.create(plain, {
    queue: { value: queue },
    store: {
      value: {
        ...store,
        write: (work: Work) => noting(() => store.write(work)),
        writeHolding: (held: () => Held, work: Work) => noting(() => store.writeHolding(held, work)),
      },
    },
  })
  const { id } = await createInbox(app, operator, {})
  for (let index = 0; index < 5; index++) {
    const [to, ...cc] = Array.from({ length: 90 }, (_, each) => `x${each}@theirs.example`)
    await send(plain, key, id, { to: to!, cc, subject: 's', body: 'b' }, undefined)
  }
  // The sends of `plain` went to a queue on another store.
  const deliveries = await store.read.selectFrom('delivery').select('id').execute()
  t.equal(deliveries.length, 450)
  await store.write(async db => {
    await db.deleteFrom('queueEntry').execute()
    await queue.put(
      db,
      deliveries.map(one => ({
        kind: 'delivery' as const,
        subjectId: one.id,
        destination: 'theirs.example',
        expiresAt: '2030-01-01T00:00:00.000Z',
      })),
    )
  })
  changed = []
  await suspendInbox(app, id, null)
  t.equal(await count(), 450)
  t.ok(changed.length >= 3 && changed.every(each => each <= 200), `${changed}`)
  t.ok(changed[0]! > 0, 'the first of them in the write of the suspension')
  t.strictSame(await claim(queue, 'delivery', 500), [])
  changed = []
  await resumeInbox(app, id)
  t.equal(await count(), 0)
  t.ok(changed.length >= 3 && changed.every(each => each <= 200), `${changed}`)
  t.equal((await claim(queue, 'delivery', 500)).length, 450)
  t.equal(await store.write(db => holdSome(app, db, id, '')), undefined, 'not of one that may send')
  t.equal(await count(), 0)
})
