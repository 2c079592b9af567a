import t, { type Test } from 'tap'
import { createInbox } from '../../../lib/core/account/inboxes.ts'
import { createPod } from '../../../lib/core/account/pods.ts'
import { operator } from '../../../lib/core/app/caller.ts'
import { deliver } from '../../../lib/core/delivery/deliver.ts'
import { recordReturned } from '../../../lib/core/inbound/bounces.ts'
import { send } from '../../../lib/core/outbound/send.ts'
import { listSuppressions, removeSuppression } from '../../../lib/core/outbound/suppressions.ts'
import { addPolicyRule, changePolicyMode } from '../../../lib/core/policy/rules.ts'
import type { DeliveryRow } from '../../../lib/store/tables.ts'
import { startPeer } from '../../courier/smtp/scripted-peer.ts'
import { carryAll } from '../../support/carry-all.ts'
import { claim } from '../../support/claim.ts'
import { startDns } from '../../support/dns.ts'
import { freePort } from '../../support/ports.ts'
import { greetedDialog } from '../../support/smtp-dialog.ts'
import { openDoor } from '../../support/smtp-door.ts'

/** A server of ours with the inbox ann, and one of theirs that takes everything. */
async function setUp(t: Test, toml = '') {
  const mxPort = await freePort('127.0.0.12')
  const dns = await startDns({
    'theirs.example': { MX: [{ priority: 1, exchange: 'mx.theirs.example' }] },
    'mx.theirs.example': { A: ['127.0.0.12'] },
    'null.example': { MX: [{ priority: 0, exchange: '' }] },
    'mx.strict.example': { TXT: ['v=spf1 -all'] },
    '_dmarc.strict.example': { TXT: ['v=DMARC1; p=reject'] },
  })
  const refused: string[] = []
  const peer = await startPeer('127.0.0.12', mxPort, { RCPT: () => refused.shift() ?? '250 2.1.5 ok' })
  t.teardown(() => Promise.all([dns.close(), peer.close()]))
  const door = await openDoor(t, { dns: dns.server, mxPort, toml })
  const { app } = door
  const ann = await door.inbox('ann')
  const dialog = await greetedDialog(door.port)
  const db = app.store.read
  let sends = 0
  /** Sends to bob, and carries it if asked; gives the delivery. */
  const sent = async ({ to = 'bob@theirs.example', isCarried = true } = {}): Promise<DeliveryRow> => {
    const { messageId } = await send(app, operator, ann, { to, subject: 's', body: 'b' }, `${++sends}`)
    if (isCarried) await carryAll(app)
    return db.selectFrom('delivery').selectAll().where('messageId', '=', messageId).executeTakeFirstOrThrow()
  }
  return {
    app,
    door,
    ann,
    dialog,
    peer,
    refused,
    sent,
    state: async (delivery: DeliveryRow) => {
      const row = await db
        .selectFrom('delivery')
        .selectAll()
        .where('id', '=', delivery.id)
        .executeTakeFirstOrThrow()
      const { status } = await db
        .selectFrom('message')
        .select('status')
        .where('id', '=', delivery.messageId)
        .executeTakeFirstOrThrow()
      return { delivery: row.state, message: status, row }
    },
    events: async () => {
      const rows = await db.selectFrom('event').selectAll().orderBy('id').execute()
      return rows
        .filter(({ type }) => !['message.received', 'message.delivered', 'message.sent'].includes(type))
        .map(({ type, messageId, payload }) => ({ type, messageId, ...JSON.parse(payload) }))
    },
    suppressed: async () =>
      (await listSuppressions(app, undefined, { limit: 10, offset: 0 })).rows.map(row => [
        row.recipient,
        row.reason,
      ]),
    /** Hands a message in; gives the reply to its end. */
    async comes(to: string, content: string, from = '') {
      await dialog.envelope(from, to)
      return (await dialog.data(content.replaceAll('\n', '\r\n'))).text
    },
  }
}

function dsn({
  recipient = 'bob@theirs.example',
  action = 'failed',
  status = '5.1.1',
  said = '550 5.1.1 no such user',
} = {}) {
  return `From: MAILER-DAEMON@mx.theirs.example
Subject: Undelivered Mail Returned to Sender
MIME-Version: 1.0
Content-Type: multipart/report; report-type=delivery-status; boundary="b"

--b

It did not work.
--b
Content-Type: message/delivery-status

Reporting-MTA: dns; relay.theirs.example

Final-Recipient: rfc822; ${recipient}
Action: ${action}
Status: ${status}
Remote-MTA: dns; inner.theirs.example
Diagnostic-Code: smtp; ${said}

--b--`
}

function arf(mailFrom: string, { type = 'abuse', returnPath = 'x@y.example' } = {}) {
  return `From: fbl@theirs.example
Subject: Complaint
MIME-Version: 1.0
Content-Type: multipart/report; report-type=feedback-report; boundary="b"

--b

Somebody did not want it.
--b
Content-Type: message/feedback-report

Feedback-Type: ${type}
Version: 1
User-Agent: Some/1.0
Original-Mail-From: <${mailFrom}>

--b
Content-Type: message/rfc822

Return-Path: <${returnPath}>
Subject: s

b
--b--`
}

t.test('what comes back is noted, whoever tells it and whatever is proven of that', async t => {
  const { app, sent, comes, state } = await setUp(t)
  for (const from of [
    'From: MAILER-DAEMON@mx.strict.example\n',
    'From: MAILER-DAEMON\n',
    'From: a@mx.strict.example, b@theirs.example\n',
    '',
  ]) {
    const delivery = await sent()
    const content = dsn().replace(/^From: .*\n/, from)
    t.match(await comes(delivery.mailFrom!, content), /^250 /, from)
    t.match(await state(delivery), { delivery: 'failed', message: 'failed' })
    await resume(delivery)
  }
  const strict = dsn().replace('mx.theirs.example', 'mx.strict.example')
  t.match(await comes('ann@ours.example', strict), /^550 5\.7\.26 /, 'the same to another address is mail')

  /** So that bob is written to again. */
  async function resume({ recipient }: DeliveryRow) {
    await app.store.write(db => db.deleteFrom('suppression').where('recipient', '=', recipient).execute())
  }
})

t.test('who has a reverse-path of ours proves nothing to others', async t => {
  const { app, door, dialog, sent } = await setUp(t)
  const victim = await door.inbox('victim')
  const system = 'abuse@ours.example'
  const { mailFrom } = await sent()
  const says = async (content: string, from: string, ...to: string[]) => {
    await dialog.envelope(from, ...to)
    return (await dialog.data(content.replaceAll('\n', '\r\n'))).text
  }
  const strict = (content: string) => content.replace(/^From: .*/, 'From: boss@mx.strict.example')
  for (const content of [strict(dsn()), strict(arf(mailFrom!))]) {
    for (const path of [mailFrom!, system]) {
      t.match(await says(content, 'x@mx.strict.example', path, 'victim@ours.example'), /^550 5\.7\.26 /)
    }
  }
  const unproven = {
    two: 'From: boss@theirs.example, x@evil.example',
    none: 'X-From: x',
    twice: 'From: boss@theirs.example\nFrom: x@evil.example',
  }
  for (const [what, from] of Object.entries(unproven)) {
    const content = dsn().replace(/^From: .*/, from)
    t.match(await says(content, '', mailFrom!, 'victim@ours.example'), /^250 /, what)
    const row = await app.store.read
      .selectFrom('message')
      .selectAll()
      .where('inboxId', '=', victim)
      .orderBy('id', 'desc')
      .executeTakeFirstOrThrow()
    t.match(row, { verdict: 'spam' }, what)
    t.not(row.category, 'bounce', what)
  }
})

t.test(
  'what comes back by mail suppresses for the pod that sent, and what a server says in the session for all',
  async t => {
    const { app, ann, comes, refused, sent } = await setUp(t)
    const pod = await createPod(app, {})
    const theirs = await createInbox(app, operator, { mailboxName: 'theirs', podId: pod.id })
    const tries = async (inboxId: string, to: string, key: string) => {
      try {
        await send(app, operator, inboxId, { to, subject: 's', body: 'b' }, key)
        return 'sent'
      } catch (error) {
        return (error as { code?: string }).code
      }
    }
    const nobody = 'Subject: failure notice\nFrom: MAILER-DAEMON@x.example\n\n'
    const families: Record<string, (path: string, to: string) => readonly [to: string, content: string]> = {
      'a notification': (path, recipient) => [path, dsn({ recipient })],
      'one of a full mailbox': (path, recipient) => [
        path,
        dsn({ recipient, status: '5.2.2', said: '552 5.2.2 mailbox full' }),
      ],
      words: (path, recipient) => [
        path,
        `${nobody}Hi. This is the qmail-send program at x.example.\nI'm afraid I wasn't able to deliver your message to the following addresses.\nThis is a permanent error; I've given up. Sorry it didn't work out.\n\n<${recipient}>:\n550 5.1.1 no such user\n`,
      ],
      'a complaint at the reverse-path': path => [path, arf('-')],
      'a complaint at abuse': path => ['abuse@ours.example', arf(path)],
    }
    for (const [index, [name, family]] of Object.entries(families).entries()) {
      const to = `bob${index}@theirs.example`
      const { mailFrom } = await sent({ to })
      t.match(await comes(...family(mailFrom!, to)), /^250 /, name)
      t.equal(await tries(ann, to, `a${index}`), 'recipient_suppressed', `${name}: who sent`)
      t.equal(await tries(theirs.id, to, `b${index}`), 'sent', `${name}: anybody else`)
    }
    await carryAll(app)
    refused.push('550 5.1.1 no such user')
    await sent({ to: 'gone@theirs.example' })
    t.equal(await tries(ann, 'gone@theirs.example', 'c'), 'recipient_suppressed')
    t.equal(
      await tries(theirs.id, 'gone@theirs.example', 'd'),
      'recipient_suppressed',
      'it was told to this server itself',
    )
    await carryAll(app)
    refused.push('550 5.1.1 no such user')
    await sent({ to: 'EVE@theirs.example' })
    t.equal(await tries(ann, 'eve@theirs.example', 'e'), 'recipient_suppressed')
    t.equal(await tries(theirs.id, 'eve@theirs.example', 'f'), 'sent', 'it may be another mailbox')
    t.strictSame(
      (await listSuppressions(app, undefined, { limit: 10, offset: 0 })).rows.map(row => row.podId === null),
      [false, true, false, false, false, false, false],
    )
  },
)

t.test('each delivery has a reverse-path of its own, and nothing else at bounce. is one', async t => {
  const { sent, peer, dialog } = await setUp(t)
  const { mailFrom } = await sent()
  t.match(mailFrom, /^b-[0-9a-z]{24}@bounce\.ours\.example$/)
  t.ok(peer.commands.some(line => line.startsWith(`MAIL FROM:<${mailFrom}>`)))
  t.not((await sent()).mailFrom, mailFrom)
  const rcpt = async (path: string) => (await dialog.say(`RCPT TO:<${path}>`)).text.slice(0, 9)
  await dialog.say('MAIL FROM:<>')
  t.equal(await rcpt(mailFrom!), '250 2.1.5')
  t.equal(await rcpt(mailFrom!.toUpperCase()), '250 2.1.5')
  t.equal(await rcpt(mailFrom!.replace(/^b-./, 'b-_')), '550 5.1.1')
  t.equal(await rcpt(`b-${'0'.repeat(24)}@bounce.ours.example`), '550 5.1.1')
  t.equal(await rcpt(mailFrom!.replace('bounce.', '')), '550 5.1.1')
  t.equal(await rcpt('ann@bounce.ours.example'), '550 5.1.1')
  t.equal(await rcpt('postmaster@bounce.ours.example'), '250 2.1.5')
  t.equal(await rcpt('abuse@bounce.ours.example'), '250 2.1.5')
  t.equal(await rcpt('postmaster@bounce.theirs.example'), '550 5.7.1')
})

t.test('a bounce fails its delivery once, tells it, suppresses, and stands in the thread', async t => {
  const { sent, state, events, suppressed, comes, door, ann } = await setUp(t)
  const delivery = await sent()
  t.match(await state(delivery), { delivery: 'delivered', message: 'sent' })
  t.match(await comes(delivery.mailFrom!.toUpperCase(), dsn()), /^250 /)
  const after = await state(delivery)
  t.match(after, { delivery: 'failed', message: 'failed' })
  t.match(after.row, {
    replyCode: 550,
    replyEnhanced: '5.1.1',
    replyText: 'no such user',
    remoteHost: 'inner.theirs.example',
    nextAttemptAt: null,
  })
  const bounced = {
    type: 'message.bounced',
    messageId: delivery.messageId,
    deliveryId: delivery.id,
    recipient: 'bob@theirs.example',
    status: '5.1.1',
    diagnostic: 'no such user',
  }
  t.strictSame(await events(), [bounced])
  t.strictSame(await suppressed(), [['bob@theirs.example', 'bounce']])
  const [notice] = await door.messages()
  const { threadId } = await door.app.store.read
    .selectFrom('message')
    .select('threadId')
    .where('id', '=', delivery.messageId)
    .executeTakeFirstOrThrow()
  t.match(notice, { inboxId: ann, threadId, category: 'bounce', autoReplyable: 0 })

  t.match(await comes(delivery.mailFrom!, dsn({ said: '550 5.1.1 again' })), /^250 /)
  t.strictSame(await events(), [bounced], 'not twice')
  t.equal((await state(delivery)).row.replyText, 'no such user')
})

t.test('what is no failure of the recipient', async t => {
  const { sent, state, events, suppressed, comes, door } = await setUp(t)
  const delivery = await sent()
  const path = delivery.mailFrom!
  for (const action of ['delayed', 'relayed', 'delivered', 'expanded']) {
    t.match(await comes(path, dsn({ action, status: action === 'delayed' ? '4.4.1' : '2.0.0' })), /^250 /)
  }
  t.match(await comes('ann@ours.example', dsn()), /^250 /, 'anybody can send this')
  t.match(
    await comes(path, 'From: bob@theirs.example\nSubject: Away\nAuto-Submitted: auto-replied\n\nUntil May.'),
    /^250 /,
  )
  t.match(await state(delivery), { delivery: 'delivered', message: 'sent' })
  t.strictSame([await events(), await suppressed()], [[], []])
  t.strictSame(
    (await door.messages()).map(message => message.category),
    ['bounce', 'bounce', 'bounce', 'bounce', 'bounce', 'automated'],
  )

  const policy = await sent()
  await comes(policy.mailFrom!, dsn({ status: '5.1.1', said: '550 5.7.1 you are on a list' }))
  const passedOn = await sent()
  await comes(passedOn.mailFrom!, dsn({ recipient: 'someone@else.example' }))
  const sender = await sent()
  await comes(sender.mailFrom!, dsn({ said: '553 5.1.8 Domain of sender address does not exist' }))
  for (const one of [policy, passedOn, sender]) {
    t.match(await state(one), { delivery: 'failed', message: 'failed' })
  }
  t.match(
    [(await state(policy)).row, (await state(sender)).row],
    [{ replyClass: 'policy' }, { replyClass: 'sender' }],
  )
  t.equal((await events()).length, 3)
  t.strictSame(await suppressed(), [], 'it failed, and nothing says that bob is not there')
})

t.test('a full mailbox is written to again after seven days', async t => {
  const { app, sent, state, comes } = await setUp(t)
  const full = await sent()
  await comes(full.mailFrom!, dsn({ status: '5.2.2', said: '552 5.2.2 mailbox full' }))
  t.match(await state(full), { delivery: 'failed', message: 'failed', row: { replyClass: 'full' } })
  const page = { limit: 10, offset: 0 }
  const [row] = (await listSuppressions(app, undefined, page)).rows
  const days = (Date.parse(row?.expiresAt ?? '') - Date.parse(row?.createdAt ?? '')) / 86_400_000
  t.match([row?.recipient, row?.reason, days], ['bob@theirs.example', 'bounce', 7])
  const gone = await sent({ to: 'bob+gone@theirs.example' })
  await app.store.write(db =>
    db.updateTable('delivery').set({ recipient: 'bob@theirs.example' }).where('id', '=', gone.id).execute(),
  )
  await comes(gone.mailFrom!, dsn())
  t.equal((await listSuppressions(app, undefined, page)).rows[0]?.expiresAt, null, 'and then not at all')
})

t.test('words name the recipient whom the delivery was for, among others', async t => {
  const { sent, state, suppressed, comes } = await setUp(t)
  const delivery = await sent()
  const notice = `From: MAILER-DAEMON@relay.theirs.example
Subject: Undelivered Mail Returned to Sender

This message was created automatically by mail delivery software.
A message that you sent could not be delivered to one or more of its recipients.

ann@theirs.example Invalid Address, ERROR_CODE :550, ERROR_CODE :5.2.1 <ann@theirs.example>... User Unknown
bob@theirs.example Invalid Address, ERROR_CODE :552, ERROR_CODE :5.2.2 <bob@theirs.example>... Mailbox Full
`
  t.match(await comes(delivery.mailFrom!, notice), /^250 /)
  t.match(await state(delivery), { delivery: 'failed', row: { replyCode: 552, replyClass: 'full' } })
  t.strictSame(await suppressed(), [['bob@theirs.example', 'bounce']])
})

t.test('of several recipients the one that is named counts', async t => {
  const { sent, state, suppressed, comes } = await setUp(t)
  const both = (first: string) =>
    dsn({ action: first, status: first === 'failed' ? '5.1.1' : '2.0.0' }).replace(
      '\n--b--',
      '\nFinal-Recipient: rfc822; someone@else.example\nAction: failed\nStatus: 5.1.1\n\n--b--',
    )
  const delivered = await sent()
  await comes(delivered.mailFrom!, both('delivered'))
  t.match(await state(delivered), { delivery: 'delivered' })
  const failed = await sent()
  await comes(failed.mailFrom!, both('failed'))
  t.match(await state(failed), { delivery: 'failed' })
  t.strictSame(await suppressed(), [['bob@theirs.example', 'bounce']])
})

t.test('a bounce that overtakes the record of the delivery ends it', async t => {
  const { app, sent, state, events, comes, peer } = await setUp(t)
  const waiting = await sent({ isCarried: false })
  await comes(waiting.mailFrom!, dsn())
  await carryAll(app)
  t.strictSame(peer.messages, [], 'nothing is sent any more')
  t.match(await state(waiting), { delivery: 'failed', message: 'failed' })

  const underWay = await sent({ to: 'carol@theirs.example', isCarried: false })
  const [entry] = await claim(app.queue, 'delivery')
  await comes(underWay.mailFrom!, dsn({ recipient: 'carol@theirs.example' }))
  // An attempt that was under way by then had found no suppression.
  await removeSuppression(app, 'carol@theirs.example')
  await t.rejects(deliver(app, entry!), { name: 'LeaseLost' }, 'there is nothing left to record')
  t.equal(peer.messages.length, 1)
  t.match(await state(underWay), { delivery: 'failed', message: 'failed' })
  t.strictSame(
    (await events()).map(({ type }) => type),
    ['message.bounced', 'message.bounced'],
  )
})

t.test('sender rules keep the message out, and not what it tells', async t => {
  const { app, ann, sent, state, events, comes, door } = await setUp(t, '[policy]\nrefuse_with = "reject"')
  const scope = { inbox: ann }
  await changePolicyMode(app, operator, scope, { mode: 'allowlist', direction: 'inbound' })
  await addPolicyRule(app, operator, scope, {
    type: 'block',
    value: 'mx.theirs.example',
    direction: 'inbound',
  })
  const delivery = await sent()
  t.match(await comes(delivery.mailFrom!, dsn()), /^250 /)
  t.match(await state(delivery), { delivery: 'failed', message: 'failed' })
  t.equal((await events()).length, 1)
  t.strictSame(await door.messages(), [])
  t.match(
    await comes(delivery.mailFrom!, 'From: eve@mx.theirs.example\n\nHello'),
    /^550 5\.7\.1/,
    'other mail to it is mail like any other',
  )
})

t.test('what a server says in the session is a bounce, what we give up by ourselves is not', async t => {
  const { sent, refused, events } = await setUp(t)
  refused.push('550 5.7.1 not from you')
  await sent()
  await sent({ to: 'x@null.example' })
  await sent({ to: 'nobody@ours.example' })
  t.match(await events(), [
    { type: 'message.bounced', recipient: 'bob@theirs.example', status: '5.7.1', diagnostic: 'not from you' },
    { type: 'message.failed', recipient: 'x@null.example', status: '5.1.10' },
    { type: 'message.bounced', recipient: 'nobody@ours.example', status: '5.1.1' },
  ])
})

t.test('a complaint names the reverse-path, or it is none', async t => {
  const { app, sent, state, events, suppressed, comes } = await setUp(t)
  const first = await sent()
  await comes('postmaster@ours.example', arf('ann@ours.example'))
  await comes('postmaster@ours.example', arf(first.mailFrom!, { type: 'not-spam' }))
  await comes('ann@ours.example', arf(first.mailFrom!))
  t.strictSame([await events(), await suppressed()], [[], []])

  await comes('abuse@ours.example', arf(first.mailFrom!.toUpperCase()))
  await comes('postmaster@bounce.ours.example', arf('-', { returnPath: first.mailFrom! }))
  await comes(first.mailFrom!, arf('-'))
  const complained = (one: DeliveryRow) => ({
    type: 'message.complained',
    messageId: one.messageId,
    deliveryId: one.id,
    recipient: one.recipient,
  })
  t.strictSame(await events(), [complained(first)], 'once')
  t.strictSame(await suppressed(), [['bob@theirs.example', 'complaint']])
  t.match(await state(first), { delivery: 'delivered', message: 'sent' })

  const second = await sent({ to: 'carol@theirs.example' })
  await comes(second.mailFrom!, dsn({ recipient: 'carol@theirs.example' }))
  await comes('postmaster@ours.example', arf(second.mailFrom!))
  t.strictSame((await events()).at(-1), complained(second))
  t.strictSame((await suppressed()).at(0), ['carol@theirs.example', 'complaint'])

  const third = await sent({ to: 'dave@theirs.example' })
  const twice = { bounces: [], complaints: [third, third], isNotification: false }
  await app.store.write(db =>
    recordReturned(app, db, { ...twice, threadIds: new Map(), consumed: new Set() }),
  )
  t.strictSame(
    (await events()).slice(-2),
    [complained(second), complained(third)],
    'once, though in one write',
  )
})

t.test('what an inbox here sends to a reverse-path of ours stays here', async t => {
  const { sent, state, peer, door, ann } = await setUp(t)
  const { mailFrom } = await sent()
  const answer = await sent({ to: mailFrom! })
  t.match(await state(answer), { delivery: 'delivered', row: { remoteHost: 'mail.ours.example' } })
  t.match(await door.messages(), [
    { inboxId: ann, fromAddr: 'ann@ours.example', mailFrom: 'ann@ours.example' },
  ])
  t.equal(peer.messages.length, 1, 'the first one only')
})

t.test('the bounce of a forwarded copy is noted, and nobody is written to about it', async t => {
  const { app, sent, state, events, suppressed, comes, door } = await setUp(t)
  const delivery = await sent()
  await app.store.write(async db => {
    await db.updateTable('delivery').set({ purpose: 'forward' }).where('id', '=', delivery.id).execute()
  })
  t.match(await comes(delivery.mailFrom!, dsn()), /^250 /)
  t.match(await state(delivery), { delivery: 'failed', message: 'sent', row: { replyEnhanced: '5.1.1' } })
  t.strictSame([await events(), await suppressed(), await door.messages()], [[], [], []])
})
