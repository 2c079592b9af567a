import t from 'tap'
import { systemClock } from '../../../lib/base/time.ts'
import { createKey } from '../../../lib/core/account/keys.ts'
import { operator } from '../../../lib/core/app/caller.ts'
import { deliver } from '../../../lib/core/delivery/deliver.ts'
import { listMessageDeliveries } from '../../../lib/core/mailbox/deliveries.ts'
import { send } from '../../../lib/core/outbound/send.ts'
import { startPeer } from '../../courier/smtp/scripted-peer.ts'
import { claim } from '../../support/claim.ts'
import { startDns } from '../../support/dns.ts'
import { freePort } from '../../support/ports.ts'
import { greetedDialog } from '../../support/smtp-dialog.ts'
import { openDoor } from '../../support/smtp-door.ts'

const minuteMs = 60_000
const dayMs = 24 * 60 * minuteMs

t.test('five days of "not now", by the API and by SMTP, on a clock that is put on', async t => {
  const mxPort = await freePort('127.0.0.9')
  const dns = await startDns({
    'theirs.example': { MX: [{ priority: 1, exchange: 'mx.theirs.example' }] },
    'mx.theirs.example': { A: ['127.0.0.9'] },
  })
  t.teardown(() => dns.close())
  const peer = await startPeer('127.0.0.9', mxPort, { RCPT: '451 4.3.0 our disk is away' })
  t.teardown(() => peer.close())
  let nowMs = systemClock.now().getTime()
  const clock = { ...systemClock, now: () => new Date(nowMs) }
  const door = await openDoor(t, { dns: dns.server, mxPort, clock, toml: '[delivery]\nmode = "mx"' })
  const { app } = door
  const db = app.store.read
  const ann = await door.inbox('ann')

  await send(app, operator, ann, { to: 'bob@theirs.example', subject: 'by the API', body: 'Hello' }, 'one')
  const { token } = await createKey(app, operator, { inbox: ann }, null)
  const dialog = await greetedDialog(door.submissionPort)
  await dialog.startTls()
  await dialog.say('EHLO client.example')
  await dialog.say(`AUTH PLAIN ${Buffer.from(`\0ann@ours.example\0${token}`).toString('base64')}`)
  for (const line of ['MAIL FROM:<ann@ours.example>', 'RCPT TO:<carl@theirs.example>', 'DATA'])
    await dialog.say(line)
  const said = await dialog.data(
    'From: ann@ours.example\r\nTo: carl@theirs.example\r\nSubject: by SMTP\r\n\r\nHello',
  )
  t.equal(said.code, 250)
  dialog.end()

  const beganMs = nowMs
  const nextDue = () =>
    db
      .selectFrom('queueEntry')
      .select('dueAt')
      .where('kind', '=', 'delivery')
      .orderBy('dueAt')
      .limit(1)
      .executeTakeFirst()
  for (let next = await nextDue(); next; next = await nextDue()) {
    nowMs = Math.max(nowMs, Date.parse(next.dueAt))
    if (nowMs > beganMs + 7 * dayMs) throw new Error('it is never given up')
    const [entry] = await claim(app.queue, 'delivery')
    if (entry) await deliver(app, entry)
  }

  const outbound = await db
    .selectFrom('message')
    .select(['id', 'subject'])
    .where('direction', '=', 'outbound')
    .execute()
  t.equal(outbound.length, 2)
  for (const { id, subject } of outbound) {
    const [delivery] = await listMessageDeliveries(app, operator, id)
    t.match(delivery, {
      state: 'failed',
      replyEnhanced: '4.4.7',
      replyText: /^given up after .*: our disk is away$/,
    })
    const tries = await db
      .selectFrom('attempt')
      .selectAll()
      .where('deliveryId', '=', delivery!.id)
      .orderBy('createdAt')
      .execute()
    t.equal(delivery!.attempts, tries.length)
    const at = tries.map(({ createdAt }) => Date.parse(createdAt) - beganMs)
    const waits = at.slice(1).map((ms, index) => ms - at[index]!)
    // RFC 5321 §4.5.4.1: soon again within the first hour, then less often, for four to five days at the least.
    t.ok(
      at.filter(ms => ms < 60 * minuteMs).length >= 3,
      `${subject}: ${waits.map(ms => Math.round(ms / minuteMs))}`,
    )
    t.ok(Math.max(...waits) <= 9 * 60 * minuteMs, 'never longer than some hours')
    t.ok(tries.length >= 15 && tries.length <= 50, `${tries.length} attempts`)
    t.ok(at.at(-1)! >= 5 * dayMs, 'and given up after five days')
    t.ok(at.at(-1)! < 5 * dayMs + 9 * 60 * minuteMs)
    const events = await db
      .selectFrom('event')
      .select(['type', 'payload'])
      .where('type', 'in', ['message.deferred', 'message.failed', 'message.bounced', 'message.delivered'])
      .execute()
    const told = events
      .filter(({ payload }) => String(payload).includes(delivery!.id))
      .map(({ type }) => type)
    t.same(told, ['message.deferred', 'message.failed'], 'each is told once')
  }
  t.ok(peer.commands.filter(line => line.startsWith('RCPT')).length > 30)

  // Who submitted it by SMTP is told by mail, too; who sent it by the API is not.
  const notices = []
  for (const message of await door.messages()) notices.push((await door.raw(message)).toString())
  t.equal(notices.length, 2)
  t.match(notices[0], /^Final-Recipient: rfc822; ?carl@theirs\.example\r$/m)
  t.match(notices[0], /^Action: delayed\r$/m)
  t.match(notices[1], /^Action: failed\r$/m)
  t.match(notices[1], /^Final-Recipient: rfc822; ?carl@theirs\.example\r$/m)
})
