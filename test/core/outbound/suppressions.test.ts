import t from 'tap'
import { type ReplyClass, replyClasses } from '../../../lib/base/reply.ts'
import { createInbox } from '../../../lib/core/account/inboxes.ts'
import { operator } from '../../../lib/core/app/caller.ts'
import { listMessageDeliveries } from '../../../lib/core/mailbox/deliveries.ts'
import { send } from '../../../lib/core/outbound/send.ts'
import {
  addSuppression,
  listSuppressions,
  suppressBounced,
  suppressedUntil,
} from '../../../lib/core/outbound/suppressions.ts'
import type { Outcome } from '../../../lib/courier/outcome.ts'
import { findPodOfInbox } from '../../../lib/store/inboxes.ts'
import { everyPod } from '../../../lib/store/suppressions.ts'
import { startPeer } from '../../courier/smtp/scripted-peer.ts'
import { carryAll } from '../../support/carry-all.ts'
import { startDns } from '../../support/dns.ts'
import { freePort } from '../../support/ports.ts'
import { openDoor } from '../../support/smtp-door.ts'

const all = { limit: 100, offset: 0 }
const letter = (to: string) => ({ to, subject: 's', body: 'b' })

t.test('what a failure means for who is written to', async t => {
  const now = new Date('2026-01-01T00:00:00.000Z')
  const until = (result: Outcome['result'], replyClass?: ReplyClass) =>
    suppressedUntil({ result, text: '', durationMs: 0, ...(replyClass && { replyClass }) }, now)
  t.equal(until('permanent', 'recipient'), null, 'for ever')
  t.strictSame(until('permanent', 'full'), new Date('2026-01-08T00:00:00.000Z'), 'for seven days')
  for (const about of replyClasses.filter(one => one !== 'recipient' && one !== 'full')) {
    t.equal(until('permanent', about), undefined, `not for what is about ${about}`)
  }
  t.equal(until('permanent'), undefined, 'nor for what nobody knows')
  t.equal(until('transient', 'recipient'), undefined)
  t.equal(until('transient', 'full'), undefined)
})

t.test('what a real server says decides', async t => {
  const mxPort = await freePort('127.0.0.9')
  const dns = await startDns({ 'theirs.example': { MX: [{ priority: 1, exchange: 'mx.theirs.example' }] } })
  dns.set('mx.theirs.example', 'A', ['127.0.0.9'])
  dns.set('null.example', 'MX', [{ priority: 0, exchange: '' }])
  const replies = [
    '550 5.1.1 No such user here',
    '550 5.7.1 Your address is on our list',
    '550 no such user',
    '554 refused',
    '550 5.2.1 disabled',
  ]
  const peer = await startPeer('127.0.0.9', mxPort, {
    RCPT: () => replies.shift() ?? '250 ok',
  })
  t.teardown(() => Promise.all([dns.close(), peer.close()]))
  const { app, inbox } = await openDoor(t, { dns: dns.server, mxPort })
  const ann = await inbox('ann')
  const names = ['gone', 'policy', 'plain', 'vague', 'disabled']
  for (const name of names) {
    await send(app, operator, ann, letter(`${name}@theirs.example`), name)
    await carryAll(app)
  }
  for (const domain of ['null.example', 'nowhere.example']) {
    await send(app, operator, ann, letter(`x@${domain}`), domain)
  }
  await carryAll(app)
  const { rows, total } = await listSuppressions(app, undefined, all)
  t.strictSame(rows.map(row => row.recipient).sort(), [
    'disabled@theirs.example',
    'gone@theirs.example',
    'plain@theirs.example',
    'x@nowhere.example',
    'x@null.example',
  ])
  t.equal(total, 5)
  const gone = rows.find(row => row.recipient === 'gone@theirs.example')
  t.match(gone, { reason: 'bounce', evidence: '550 5.1.1 No such user here', expiresAt: null })
  const message = await app.store.read
    .selectFrom('message')
    .select('status')
    .where('id', '=', gone?.messageId ?? '')
    .executeTakeFirst()
  t.equal(message?.status, 'failed')
  await t.rejects(send(app, operator, ann, letter('Gone@Theirs.example'), 'again'), {
    code: 'recipient_suppressed',
    more: { recipient: 'gone@theirs.example', type: 'bounce' },
  })
  await send(app, operator, ann, letter('policy@theirs.example'), 'again2')
})

t.test(
  'what is heard after the message, or only ever for now, suppresses for the pod that sent alone',
  async t => {
    const mxPort = await freePort('127.0.0.9')
    const dns = await startDns({ 'theirs.example': { MX: [{ priority: 1, exchange: 'mx.theirs.example' }] } })
    dns.set('mx.theirs.example', 'A', ['127.0.0.9'])
    const said: Record<string, string> = {}
    const peer = await startPeer('127.0.0.9', mxPort, {
      RCPT: () => said.RCPT ?? '250 ok',
      DATA: () => said.DATA ?? '354 go on',
      message: () => said.message ?? '250 ok',
    })
    t.teardown(() => Promise.all([dns.close(), peer.close()]))
    let now = new Date('2026-01-01T00:00:00.000Z')
    const clock = { now: () => now, monotonicMs: () => now.getTime() }
    const { app, inbox } = await openDoor(t, { dns: dns.server, mxPort, clock })
    const ann = await inbox('ann')
    const podOf = async (recipient: string) =>
      (await listSuppressions(app, undefined, all)).rows.find(row => row.recipient === recipient)?.podId
    const pod = await findPodOfInbox(app.store.read, ann)
    const cases: readonly [
      step: 'RCPT' | 'DATA' | 'message',
      line: string,
      podId: string | null | undefined,
    ][] = [
      ['RCPT', '550 5.1.1 no such user', null],
      ['RCPT', '550 no such user', null],
      ['DATA', '550 5.1.1 no such user', pod],
      ['message', '550 5.1.1 no such user', pod],
      ['message', '550 5.1.1 <x@theirs.example>: user unknown', pod],
      ['message', '550 no such user.exe is not allowed', undefined],
      ['message', '550 Subject: user unknown', undefined],
      ['RCPT', '450 4.1.1 no such user', pod],
      ['message', '450 4.1.1 no such user', pod],
      ['message', '450 no such user.exe is not allowed', undefined],
    ]
    for (const [index, [step, line, podId]] of cases.entries()) {
      const to = `x${index}@theirs.example`
      said[step] = line
      await send(app, operator, ann, letter(to), String(index))
      await carryAll(app)
      if (line.startsWith('4')) {
        now = new Date(now.getTime() + 6 * 86_400_000)
        await carryAll(app)
      }
      delete said[step]
      t.equal(await podOf(to), podId, `${step}: ${line}`)
    }
  },
)

t.test('an address here that is not there yet', async t => {
  const { app, inbox } = await openDoor(t)
  const ann = await inbox('ann')
  await send(app, operator, ann, letter('bea@ours.example'), '1')
  await send(app, operator, ann, letter('cid@ours.example'), '2')
  await carryAll(app)
  await addSuppression(app, { recipient: 'cid@ours.example', reason: 'complaint' })
  await t.rejects(send(app, operator, ann, letter('bea@ours.example'), '3'), { code: 'recipient_suppressed' })
  await createInbox(app, operator, { mailboxName: 'bea' })
  await createInbox(app, operator, { mailboxName: 'cid' })
  await send(app, operator, ann, letter('bea@ours.example'), '4')
  await t.rejects(send(app, operator, ann, letter('cid@ours.example'), '5'), {
    code: 'recipient_suppressed',
    more: { type: 'complaint' },
  })
})

/** What a server says of bea for good, by an attempt that was under way when she was suppressed. */
const bounceOf = (app: Parameters<typeof suppressBounced>[0], messageId: string) => {
  const gone: Outcome = {
    result: 'permanent',
    replyClass: 'recipient',
    code: 550,
    text: 'gone',
    durationMs: 0,
  }
  return app.store.write(db =>
    suppressBounced(app, db, { recipient: 'bea@ours.example', messageId }, gone, everyPod),
  )
}

t.test('what was suppressed by hand is not overwritten by a bounce', async t => {
  const { app, inbox } = await openDoor(t)
  const { messageId } = await send(app, operator, await inbox('ann'), letter('bea@ours.example'), '1')
  await addSuppression(app, { recipient: 'bea@ours.example', evidence: 'asked us' })
  await bounceOf(app, messageId)
  t.match((await listSuppressions(app, undefined, all)).rows, [{ reason: 'manual', evidence: 'asked us' }])
})

t.test('one by hand that will end gives way to a bounce that will not', async t => {
  const { app, inbox } = await openDoor(t)
  const { messageId } = await send(app, operator, await inbox('ann'), letter('bea@ours.example'), '1')
  await addSuppression(app, { recipient: 'bea@ours.example', expiresAt: '2100-01-01T00:00:00.000Z' })
  await bounceOf(app, messageId)
  const reasons = (await listSuppressions(app, undefined, all)).rows.map(one => [one.reason, one.expiresAt])
  t.ok(
    reasons.some(([reason, expiresAt]) => reason === 'bounce' && expiresAt === null),
    JSON.stringify(reasons),
  )
})

t.test('a suppression that has an end holds until then and no longer', async t => {
  let now = new Date('2026-01-01T00:00:00.000Z')
  const { app, inbox } = await openDoor(t, { clock: { now: () => now, monotonicMs: () => now.getTime() } })
  const ann = await inbox('ann')
  const expiresAt = '2026-01-02T00:00:00.000Z'
  await addSuppression(app, { recipient: 'bob@theirs.example', expiresAt })
  await addSuppression(app, { recipient: 'eve@theirs.example' })
  now = new Date(Date.parse(expiresAt) - 1)
  await t.rejects(send(app, operator, ann, letter('bob@theirs.example'), '1'), {
    code: 'recipient_suppressed',
  })
  now = new Date(expiresAt)
  t.match(await send(app, operator, ann, letter('bob@theirs.example'), '2'), { status: 'pending' })
  now = new Date('2036-01-01T00:00:00.000Z')
  await t.rejects(
    send(app, operator, ann, letter('eve@theirs.example'), '3'),
    { code: 'recipient_suppressed' },
    'one without an end does not end',
  )
})

t.test('what waits for a recipient who is suppressed meanwhile is sent no more', async t => {
  let now = new Date('2026-01-01T00:00:00.000Z')
  const mxPort = await freePort('127.0.0.9')
  const dns = await startDns({
    'theirs.example': { MX: [{ priority: 1, exchange: 'mx.theirs.example' }] },
    'mx.theirs.example': { A: ['127.0.0.9'] },
  })
  const said: { RCPT?: string } = { RCPT: '450 4.2.0 later' }
  const peer = await startPeer('127.0.0.9', mxPort, { RCPT: () => said.RCPT ?? '250 ok' })
  t.teardown(() => Promise.all([dns.close(), peer.close()]))
  const clock = { now: () => now, monotonicMs: () => now.getTime() }
  const { app, inbox } = await openDoor(t, { dns: dns.server, mxPort, clock })
  const ann = await inbox('ann')
  const sent = new Map<string, string>()
  for (const name of ['tried', 'free', 'old']) {
    if (name === 'old') now = new Date(now.getTime() + 86_400_000)
    sent.set(name, (await send(app, operator, ann, letter(`${name}@theirs.example`), name)).messageId)
    if (name === 'free') await carryAll(app)
  }
  await send(app, operator, ann, letter('new@theirs.example'), 'new').then(({ messageId }) =>
    sent.set('new', messageId),
  )
  await addSuppression(app, { recipient: 'new@theirs.example' })
  await addSuppression(app, { recipient: 'tried@theirs.example' })
  await addSuppression(app, { recipient: 'old@theirs.example', reason: 'unsubscribe' })
  delete said.RCPT
  now = new Date(now.getTime() + 86_400_000)
  await carryAll(app)
  const ends: Record<string, unknown> = {}
  for (const [name, id] of sent) {
    const [delivery] = await listMessageDeliveries(app, operator, id)
    ends[name] = [delivery!.state, delivery!.replyText, delivery!.replyClass]
  }
  t.strictSame(ends, {
    tried: [
      'failed',
      'given up: the recipient has come to the suppression list (manual) while this mail waited',
      null,
    ],
    free: ['delivered', 'taken', null],
    new: [
      'failed',
      'given up: the recipient has come to the suppression list (manual) while this mail waited',
      null,
    ],
    old: [
      'failed',
      'given up: the recipient has come to the suppression list (unsubscribe) while this mail waited',
      null,
    ],
  })
  t.equal(peer.messages.length, 1, 'nobody was asked again')
})
