import t from 'tap'
import { operator } from '../../../lib/core/app/caller.ts'
import { deliver } from '../../../lib/core/delivery/deliver.ts'
import { listMessageDeliveries } from '../../../lib/core/mailbox/deliveries.ts'
import { send } from '../../../lib/core/outbound/send.ts'
import { listSuppressions } from '../../../lib/core/outbound/suppressions.ts'
import { findDestination } from '../../../lib/store/destinations.ts'
import { startPeer } from '../../courier/smtp/scripted-peer.ts'
import { startDns } from '../../support/dns.ts'
import { freePort } from '../../support/ports.ts'
import { openDoor } from '../../support/smtp-door.ts'

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
    for (let n = 0; n < 3; n++)
      await app.store.write(db => app.queue.note(db, 'theirs.example', 'fails', 'DNS failed'))
    t.match(await standing(), { isFailing: 1 })
    const [entry] = await app.queue.claim('delivery', { limit: 1, room: () => 1 })
    await deliver(app, entry!, {
      signal: new AbortController().signal,
      heard() {},
      commit() {},
      isTurnOf: async () => isTurn,
      isClean: false,
      destination: isTurn ? 'mx.theirs.example' : 'theirs.example',
      showed() {},
    })
    t.equal(await standing(), undefined)
  }
  t.equal(peer.messages.length, 1, 'the second one was given back, untried')
})

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
    const { app, inbox } = await openDoor(t, { dns: dns.server, mxPort, toml: '[delivery]\nmode = "mx"' })
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
        const [entry] = await app.queue.claim('delivery', { limit: 1, room: () => 1 })
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
    t.match(grey.delivery.outlook, /they let a later attempt through/)
    t.equal((await events()).length, 1, 'it is told once')

    await app.store.write(db => db.deleteFrom('queueEntry').execute())
    const full = await sent('full@theirs.example', '452 4.2.2 Mailbox full')
    t.match(full.delivery, { state: 'deferred', replyClass: 'full' })
    t.ok(waitMinutes(full.delivery) > 50, 'later than the minute of the schedule')
    const now = app.clock.now().toISOString()
    await app.store.write(db => db.updateTable('queueEntry').set({ dueAt: now, expiresAt: now }).execute())
    const [entry] = await app.queue.claim('delivery', { limit: 1, room: () => 1 })
    await deliver(app, entry!)
    const [given] = await listMessageDeliveries(app, operator, full.messageId)
    t.match(given, {
      state: 'failed',
      replyClass: 'full',
      outlook: /given up after.*\(the mailbox has no room\)\.$/,
    })

    await sent('ours@theirs.example', '553 5.1.8 Domain of sender address ann@ours.example does not exist')
    await sent('gone@theirs.example', '550 5.4.1 Recipient address rejected: Access denied')
    const { rows } = await listSuppressions(app, undefined, { limit: 10, offset: 0 })
    t.strictSame(
      rows.map(({ recipient, expiresAt }) => [recipient, expiresAt === null]).sort(),
      [
        ['full@theirs.example', false],
        ['gone@theirs.example', true],
      ],
      'a fault of ours suppresses nobody, and a full mailbox for a time',
    )
  },
)
