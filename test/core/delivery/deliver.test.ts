import t from 'tap'
import type { Networked } from '../../../lib/core/app/app.ts'
import { operator } from '../../../lib/core/app/caller.ts'
import { deliver } from '../../../lib/core/delivery/deliver.ts'
import { listMessageDeliveries } from '../../../lib/core/mailbox/deliveries.ts'
import { send } from '../../../lib/core/outbound/send.ts'
import { listSuppressions } from '../../../lib/core/outbound/suppressions.ts'
import type { Leased } from '../../../lib/queue/lease.ts'
import { createRunner } from '../../../lib/queue/runner.ts'
import type { Attempt, Scheduler } from '../../../lib/queue/scheduler.ts'
import { findDestination } from '../../../lib/store/destinations.ts'
import { startPeer } from '../../courier/smtp/scripted-peer.ts'
import { claim } from '../../support/claim.ts'
import { startDns } from '../../support/dns.ts'
import { freePort } from '../../support/ports.ts'
import { openDoor } from '../../support/smtp-door.ts'
import { until } from '../../support/until.ts'

/** An attempt that counts for a destination, and may go where it turns out to lead, or not. */
function attemptAt(destination: string, mayGo: boolean): Attempt {
  const may = { isWaitedFor: () => false, commit() {}, mayGoTo: async () => mayGo, showed() {} }
  return { isFirst: false, destination, isClean: false, ...may }
}

t.test('a domain that failed for its DNS alone is forgiven when it leads to servers again', async t => {
  const mxPort = await freePort('127.0.0.9')
  const dns = await startDns({
    'theirs.example': { MX: [{ priority: 1, exchange: 'mx.theirs.example' }] },
    'mx.theirs.example': { A: ['127.0.0.9'] },
  })
  t.teardown(() => dns.close())
  const peer = await startPeer('127.0.0.9', mxPort)
  t.teardown(() => peer.close())
  const server = await openDoor(t, { dns: dns.server, mxPort, toml: '[delivery]\nmode = "mx"' })
  const { app } = server
  const inbox = await server.inbox('ann')
  const standing = () => findDestination(app.store.read, 'theirs.example')
  for (const isTurn of [true, false]) {
    await send(app, operator, inbox, { to: 'bob@theirs.example', subject: 's', body: 'b' }, String(isTurn))
    const [entry] = await claim(app.queue, 'delivery')
    await app.store.write(db => app.queue.note(db, 'theirs.example', 'fails', 'DNS failed'))
    t.match(await standing(), { failures: 1 })
    const destination = isTurn ? 'mx.theirs.example' : 'theirs.example'
    await deliver(app, entry!, attemptAt(destination, isTurn))
    t.equal(await standing(), undefined)
  }
  t.equal(peer.messages.length, 1, 'the second one was given back, untried')
})

t.test('a domain that led to a group and leads elsewhere by now forgives the group nothing', async t => {
  const mxPort = await freePort('127.0.0.9')
  const dns = await startDns({
    'theirs.example': { MX: [{ priority: 1, exchange: 'mx.theirs.example' }] },
    'mx.theirs.example': { A: ['127.0.0.9'] },
  })
  t.teardown(() => dns.close())
  const peer = await startPeer('127.0.0.9', mxPort)
  t.teardown(() => peer.close())
  const { app, inbox } = await openDoor(t, {
    dns: dns.server,
    mxPort,
    toml: '[delivery]\nmode = "mx"',
    // It takes entries out of the queue.
    breaks: ['delivery'],
  })
  const ann = await inbox('ann')
  await app.store.write(db => app.queue.note(db, 'mx:big', 'fails', 'down'))
  for (const isTurn of [false, true]) {
    const key = String(isTurn)
    await send(app, operator, ann, { to: 'bob@theirs.example', subject: 's', body: 'b' }, key)
    const [entry] = await claim(app.queue, 'delivery')
    const destination = isTurn ? 'mx:mx.theirs.example' : 'mx:big'
    await deliver(app, { ...entry!, destination: 'mx:big' }, attemptAt(destination, isTurn))
    t.match(await findDestination(app.store.read, 'mx:big'), { failures: 1 })
    const waiting = await app.store.read.selectFrom('queueEntry').select('destination').execute()
    if (!isTurn) t.strictSame(waiting, [{ destination: 'theirs.example' }], 'to be found by its domain')
    await app.store.write(db => db.deleteFrom('queueEntry').execute())
  }
  t.equal(peer.messages.length, 1)
})

t.test("who names other people's servers beside dead ones stops nobody's mail to them", async t => {
  const mxPort = await freePort('127.0.0.9')
  const google = 'gmail-smtp-in.l.google.com'
  const dead = { priority: 20, exchange: 'dead.evil.example' }
  const many = Array.from({ length: 40 }, (_, n) => ({ priority: 10, exchange: `z${n}.evil.example` }))
  const dns = await startDns({
    'gmail.example': { MX: [{ priority: 5, exchange: google }] },
    'bigco.example': { MX: [{ priority: 10, exchange: 'mx.bigco.example' }] },
    [google]: { A: ['127.0.0.9'] },
    'mx.bigco.example': { A: ['127.0.0.9'] },
    'dead.evil.example': { A: ['127.0.0.10'] },
    ...Object.fromEntries(many.map(({ exchange }) => [exchange, { A: ['127.0.0.10'] }])),
    'no-such.evil.example': { MX: [{ priority: 10, exchange: 'a.google.com' }, dead] },
    'beside.evil.example': { MX: [{ priority: 10, exchange: `no-such.${google}` }, dead] },
    'many.evil.example': { MX: [{ priority: 10, exchange: 'nx.bigco.example' }, ...many] },
    'flap.evil.example': { MX: [{ priority: 5, exchange: google }] },
  })
  t.teardown(() => dns.close())
  const peer = await startPeer('127.0.0.9', mxPort)
  t.teardown(() => peer.close())
  const { app, inbox } = await openDoor(t, { dns: dns.server, mxPort, toml: '[delivery]\nmode = "mx"' })
  const ann = await inbox('ann')
  const allowanceOf = () => ({ concurrency: 5, perMinute: 0 })
  const [one, other] = [0, 1].map(() =>
    app.queue.scheduler({ kind: 'delivery', concurrency: 20, allowanceOf }),
  )
  let number = 0
  /** Sends to these, and one process carries all that may begin. */
  const carry = async (scheduler: Scheduler, ...to: string[]) => {
    for (const address of to)
      await send(app, operator, ann, { to: address, subject: 's', body: 'b' }, String(number++))
    await carryAll(app, scheduler)
  }
  await carry(one!, 'x@flap.evil.example')
  t.equal(peer.messages.length, 1)
  dns.fail('flap.evil.example', 'SERVFAIL')
  for (let n = 0; n < 4; n++) {
    const domains = ['no-such', 'beside', 'many', 'flap']
    await carry(n === 2 ? other! : one!, ...domains.map(name => `x${n}@${name}.evil.example`))
  }
  const failing = await listFailing(app)
  t.equal(failing.length, 4)
  t.ok(failing.includes('flap.evil.example') && failing.includes('many.evil.example'))
  for (const name of failing)
    t.match(name, /evil\.example$|^mx:.*\+1:/, 'of the domain itself, or of all its servers')
  await carry(one!, 'b@gmail.example', 'b@bigco.example')
  await carry(other!, 'b@gmail.example', 'b@bigco.example')
  t.equal(peer.messages.length, 5)
})

t.test('several domains with the same dead servers are one destination, which is probed', async t => {
  const mxPort = await freePort('127.0.0.9')
  const domains = Array.from({ length: 12 }, (_, n) => `hosted${n}.example`)
  const MX = [1, 2].map(n => ({ priority: 10, exchange: `mx${n}.host.example` }))
  const dns = await startDns({
    ...Object.fromEntries(domains.map(name => [name, { MX }])),
    'mx1.host.example': { A: ['127.0.0.9'] },
    'mx2.host.example': { A: ['127.0.0.9'] },
  })
  t.teardown(() => dns.close())
  const { app, inbox } = await openDoor(t, { dns: dns.server, mxPort, toml: '[delivery]\nmode = "mx"' })
  const ann = await inbox('ann')
  const allowanceOf = () => ({ concurrency: 1, perMinute: 0 })
  const scheduler = app.queue.scheduler({ kind: 'delivery', concurrency: 1, allowanceOf })
  for (const name of domains)
    await send(app, operator, ann, { to: `b@${name}`, subject: 's', body: 'b' }, name)
  await carryAll(app, scheduler)
  t.match(await listFailing(app), [/^mx:mx1\.host\.example\+1:/])
  const tried = await app.store.read.selectFrom('attempt').selectAll().execute()
  t.equal(tried.length, 1, 'all else waits untried')
})

t.test('many names of one address have no more connections there than one has', async t => {
  const mxPort = await freePort('127.0.0.9')
  const names = Array.from({ length: 12 }, (_, n) => `own${n}.example`)
  const dns = await startDns({
    ...Object.fromEntries(names.map(name => [name, { MX: [{ priority: 10, exchange: `mx.${name}` }] }])),
    ...Object.fromEntries(names.map(name => [`mx.${name}`, { A: ['127.0.0.9'] }])),
  })
  t.teardown(() => dns.close())
  const peer = await startPeer('127.0.0.9', mxPort)
  t.teardown(() => peer.close())
  const { app, inbox } = await openDoor(t, {
    dns: dns.server,
    mxPort,
    toml: '[delivery]\nmode = "mx"\nconcurrency_per_destination = 2',
  })
  const ann = await inbox('ann')
  for (const name of names) await send(app, operator, ann, { to: `b@${name}`, subject: 's', body: 'b' }, name)
  const allowanceOf = () => ({ concurrency: 2, perMinute: 0 })
  const scheduler = app.queue.scheduler({ kind: 'delivery', concurrency: 100, allowanceOf })
  const perform = (entry: Leased) => deliver(app, entry, scheduler.attemptOf(entry))
  const runner = createRunner({ queue: app.queue, kind: 'delivery', scheduler, perform, log: app.log })
  runner.start()
  t.teardown(() => runner.stop())
  await until('all of it is taken', () => peer.messages.length === 12)
  await until('all of it is noted', async () => (await listUndone(app)).length === 0)
  t.equal(peer.most, 2)
  const tried = await app.store.read.selectFrom('attempt').select('result').execute()
  t.same(tried, Array(12).fill({ result: 'delivered' }), 'who waited was not tried, nor counted')
})

t.test('a message to fifty at one host goes in as many sessions as it gets, one after the other', async t => {
  const mxPort = await freePort('127.0.0.9')
  const dns = await startDns({
    'theirs.example': { MX: [{ priority: 10, exchange: 'mx.theirs.example' }] },
    'mx.theirs.example': { A: ['127.0.0.9'] },
  })
  t.teardown(() => dns.close())
  const peer = await startPeer('127.0.0.9', mxPort, {
    RCPT: () => (peer.commands.at(-1)!.includes('<b7@') ? '550 5.1.1 no such user' : '250 ok'),
  })
  t.teardown(() => peer.close())
  const { app, inbox } = await openDoor(t, { dns: dns.server, mxPort, toml: '[delivery]\nmode = "mx"' })
  const to = Array.from({ length: 50 }, (_, n) => `b${n}@theirs.example`)
  await send(app, operator, await inbox('ann'), { to, subject: 's', body: 'b' }, 'fifty')
  const scheduler = app.queue.scheduler({
    kind: 'delivery',
    concurrency: 100,
    allowanceOf: () => ({ concurrency: 5, perMinute: 0 }),
  })
  const perform = (entry: Leased) => deliver(app, entry, scheduler.attemptOf(entry))
  const runner = createRunner({ queue: app.queue, kind: 'delivery', scheduler, perform, log: app.log })
  runner.start()
  t.teardown(() => runner.stop())
  await until('all of it is noted', async () => (await listUndone(app)).length === 0)
  t.equal(peer.messages.length, 49)
  t.ok(peer.most <= 5)
  const said = (verb: string) => peer.commands.filter(line => line.startsWith(verb))
  const paths = said('MAIL').map(line => /<(.*)>/.exec(line)?.[1])
  t.equal(new Set(paths).size, 50, 'each has a reverse-path of its own')
  t.equal(said('RSET').length, 1, 'after a refusal alone')
  t.comment(`${peer.connections} connections for 50 recipients`)
})

function listUndone({ store }: Networked) {
  return store.read.selectFrom('queueEntry').select('id').where('kind', '=', 'delivery').execute()
}

/** Carries all that may begin. */
async function carryAll(app: Networked, scheduler: Scheduler): Promise<void> {
  for (let some = await scheduler.claim(); some.length > 0; some = await scheduler.claim())
    for (const entry of some) {
      await deliver(app, entry, scheduler.attemptOf(entry))
      scheduler.end(entry)
    }
}

async function listFailing({ store }: Networked): Promise<string[]> {
  const rows = await store.read.selectFrom('destination').select('name').where('failures', '>', 0).execute()
  return rows.map(({ name }) => name)
}

t.test(
  'what a refusal is about decides when it is tried again, and what it means when it is given up',
  async t => {
    const mxPort = await freePort('127.0.0.9')
    const dns = await startDns({
      'theirs.example': { MX: [{ priority: 1, exchange: 'mx.theirs.example' }] },
      'mx.theirs.example': { A: ['127.0.0.9'] },
    })
    t.teardown(() => dns.close())
    const replies: string[] = []
    const peer = await startPeer('127.0.0.9', mxPort, { RCPT: () => replies.shift() ?? '250 ok' })
    t.teardown(() => peer.close())
    const { app, inbox } = await openDoor(t, {
      dns: dns.server,
      mxPort,
      toml: '[delivery]\nmode = "mx"',
      // It takes entries out of the queue.
      breaks: ['delivery'],
    })
    const ann = await inbox('ann')
    const events = () =>
      app.store.read.selectFrom('event').selectAll().where('type', '=', 'message.deferred').execute()
    /** Sends, and carries it once for each reply, whenever it is due; gives the deliveries as they are shown. */
    const sent = async (to: string, ...said: string[]) => {
      const { messageId } = await send(app, operator, ann, { to, subject: 's', body: 'b' }, to)
      for (const reply of said) {
        replies.push(reply)
        const now = app.clock.now().toISOString()
        await app.store.write(db => db.updateTable('queueEntry').set({ dueAt: now }).execute())
        const [entry] = await claim(app.queue, 'delivery')
        await deliver(app, entry!)
      }
      const [delivery] = await listMessageDeliveries(app, operator, messageId)
      return { messageId, delivery: delivery! }
    }
    const waitMinutes = ({ nextAttemptAt, updatedAt }: { nextAttemptAt: string | null; updatedAt: string }) =>
      (Date.parse(nextAttemptAt ?? '') - Date.parse(updatedAt)) / 60_000

    const again = '451 4.7.1 Greylisted'
    const grey = await sent('grey@theirs.example', again, again, again, again)
    t.match(grey.delivery, { state: 'deferred', attempts: 4, replyClass: 'greylist' })
    t.ok(waitMinutes(grey.delivery) < 17, 'sooner than the half an hour of the schedule')
    t.match(grey.delivery.outlook, /they ask for a later attempt/)
    t.equal((await events()).length, 1, 'it is told once')

    await app.store.write(db => db.deleteFrom('queueEntry').execute())
    const full = await sent('full@theirs.example', '452 4.2.2 Mailbox full')
    t.match(full.delivery, { state: 'deferred', replyClass: 'full' })
    t.ok(waitMinutes(full.delivery) > 50, 'later than the minute of the schedule')
    const now = app.clock.now().toISOString()
    await app.store.write(db => db.updateTable('queueEntry').set({ dueAt: now, expiresAt: now }).execute())
    const [entry] = await claim(app.queue, 'delivery')
    await deliver(app, entry!)
    const [given] = await listMessageDeliveries(app, operator, full.messageId)
    t.match(given, {
      state: 'failed',
      replyClass: 'full',
      outlook: /given up after.*\(the mailbox has no room\)\.$/,
    })

    await app.store.write(db => db.deleteFrom('queueEntry').execute())
    const late = await sent('late@theirs.example')
    const soon = new Date(app.clock.now().getTime() + 30_000).toISOString()
    await app.store.write(db => db.updateTable('queueEntry').set({ expiresAt: soon }).execute())
    replies.push('452 4.2.2 Mailbox full')
    const [last] = await claim(app.queue, 'delivery')
    await deliver(app, last!)
    const [waiting] = await listMessageDeliveries(app, operator, late.messageId)
    t.match(
      waiting,
      { state: 'deferred', nextAttemptAt: soon },
      'it waits no longer than until it is given up',
    )
    t.match(
      waiting!.outlook,
      /^No further attempt is due before its time is over; the last one ended with ".*Mailbox full".*given up at/,
    )
    await app.store.write(db => db.deleteFrom('queueEntry').execute())

    await sent('ours@theirs.example', '553 5.1.8 Domain of sender address ann@ours.example does not exist')
    await sent('gone@theirs.example', '550 5.4.1 Recipient address rejected: Access denied')
    const { rows } = await listSuppressions(app, undefined, { limit: 10, offset: 0 })
    t.strictSame(
      rows.map(({ recipient, expiresAt, podId }) => [recipient, expiresAt === null, podId === null]).sort(),
      [
        ['full@theirs.example', false, false],
        ['gone@theirs.example', true, true],
      ],
      'a fault of ours suppresses nobody, and a full mailbox for a time and for who wrote too much into it',
    )
  },
)

t.test('what is given up by a clock that was wrong for a moment is not', async t => {
  const { app, inbox } = await openDoor(t, { toml: '[delivery]\nmode = "capture"' })
  const ann = await inbox('ann')
  const { messageId } = await send(
    app,
    operator,
    ann,
    { to: 'bob@theirs.example', subject: 's', body: 'b' },
    'k',
  )
  let aheadMs = 6 * 86_400_000
  const jumping: Networked = Object.create(app, {
    clock: {
      value: { ...app.clock, now: () => new Date(app.clock.now().getTime() + aheadMs) },
    },
    queue: {
      value: {
        ...app.queue,
        // It is written when the clock is right again.
        end: (...given: Parameters<Networked['queue']['end']>) => {
          aheadMs = 0
          return app.queue.end(...given)
        },
      },
    },
  })
  const carry = async (by: Networked) => {
    const [entry] = await claim(app.queue, 'delivery')
    await deliver(by, entry!)
    return (await listMessageDeliveries(app, operator, messageId))[0]
  }
  t.match(await carry(jumping), { state: 'queued', attempts: 0 })
  t.match(await carry(app), { state: 'delivered', attempts: 1 })
})
