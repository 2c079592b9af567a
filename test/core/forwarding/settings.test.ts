import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { systemClock } from '../../../lib/base/time.ts'
import { changeInbox, createInbox, deleteInbox, getInbox } from '../../../lib/core/account/inboxes.ts'
import { addMember } from '../../../lib/core/account/members.ts'
import { createPod } from '../../../lib/core/account/pods.ts'
import { purgeDeletedInboxes } from '../../../lib/core/account/purge.ts'
import { operator } from '../../../lib/core/app/caller.ts'
import { forwardIfUndelivered } from '../../../lib/core/forwarding/copy.ts'
import { noteForwardFailure } from '../../../lib/core/forwarding/outcome.ts'
import { forwardConfirmationMs } from '../../../lib/core/forwarding/question.ts'
import { prepareReception } from '../../../lib/core/inbound/receive.ts'
import { createReceiver } from '../../../lib/core/inbound/receiver.ts'
import { resolveRecipient } from '../../../lib/core/inbound/recipient.ts'
import { writeReception } from '../../../lib/core/inbound/write.ts'
import { openRaw } from '../../../lib/core/mailbox/raws.ts'
import { send } from '../../../lib/core/outbound/send.ts'
import { addSuppression, listSuppressions } from '../../../lib/core/outbound/suppressions.ts'
import { createDns } from '../../../lib/courier/dns.ts'
import { generateDkimKey, signDkim } from '../../../lib/mail/compose/dkim.ts'
import { insertDomain } from '../../../lib/store/domains.ts'
import type { DeliveryRow } from '../../../lib/store/tables.ts'
import { type Script, startPeer } from '../../courier/smtp/scripted-peer.ts'
import { testAuthenticator } from '../../support/authenticator.ts'
import { carryAll } from '../../support/carry-all.ts'
import { claim } from '../../support/claim.ts'
import { startDns } from '../../support/dns.ts'
import { freePort } from '../../support/ports.ts'
import { sealedText } from '../../support/rows.ts'
import { greetedDialog } from '../../support/smtp-dialog.ts'
import { openDoor } from '../../support/smtp-door.ts'

const target = 'ann@elsewhere.example'
const letter = (subject: string, ...more: string[]) =>
  ['From: Bob <bob@theirs.example>', `Subject: ${subject}`, ...more, '', 'Hello', ''].join('\r\n')

/** A door, an inbox that forwards to a member, and the server of that member. */
async function setUp(t: Test, settings: { forwardWhen?: string; script?: Script; toml?: string } = {}) {
  const mxPort = await freePort('127.0.0.21')
  const dns = await startDns({
    'elsewhere.example': { MX: [{ priority: 1, exchange: 'mx.elsewhere.example' }] },
    'mx.elsewhere.example': { A: ['127.0.0.21'] },
    'theirs.example': { TXT: ['v=spf1 ip4:127.0.0.1 -all'] },
    'forged.example': { TXT: ['v=spf1 -all'] },
    '_dmarc.forged.example': { TXT: ['v=DMARC1; p=quarantine'] },
    'bounce.ours.example': { TXT: ['v=spf1 ip4:127.0.0.1 -all'] },
  })
  const peer = await startPeer('127.0.0.21', mxPort, settings.script ?? {})
  t.teardown(() => Promise.all([dns.close(), peer.close()]))
  const door = await openDoor(t, { dns: dns.server, mxPort, toml: settings.toml ?? '' })
  const { app } = door
  await addMember(app, { address: target })
  const inbox = await createInbox(app, operator, {
    mailboxName: 'agent',
    forwardTo: target,
    forwardWhen: settings.forwardWhen ?? 'always',
  })
  const dialog = await greetedDialog(door.port)
  return {
    ...door,
    dns,
    peer,
    inbox,
    async mail(content: string | Buffer, mailFrom = 'bob@theirs.example') {
      await dialog.envelope(mailFrom, inbox.address)
      const reply = await dialog.data(content)
      if (reply.code !== 250) throw new Error(reply.text)
      return (await door.messages()).at(-1)!
    },
    copies: (): Promise<DeliveryRow[]> =>
      app.store.read
        .selectFrom('delivery')
        .selectAll()
        .where('purpose', '=', 'forward')
        .orderBy('id')
        .execute(),
    status: async () => (await getInbox(app, operator, inbox.id)).forwardStatus,
    events: async () =>
      (await app.store.read.selectFrom('event').select('type').orderBy('id').execute()).map(one => one.type),
  }
}

const kinds: Record<string, { content: string; mailFrom?: string; forwarded: readonly string[] }> = {
  personal: { content: letter('personal'), forwarded: ['always', 'webhook_failed'] },
  // No program answers it, so a person is to see it.
  unproven: {
    content: 'From: x@unknown.example\r\nSubject: unproven\r\n\r\nx\r\n',
    forwarded: ['always', 'webhook_failed', 'needs_human'],
  },
  automated: {
    content: letter('automated', 'Auto-Submitted: auto-generated'),
    forwarded: ['always', 'webhook_failed', 'needs_human'],
  },
  marketing: { content: letter('marketing', 'List-Id: <x.theirs.example>'), forwarded: [] },
  bulk: { content: letter('bulk', 'Precedence: bulk'), forwarded: [] },
  bounce: {
    content: 'From: MAILER-DAEMON@theirs.example\r\nSubject: bounce\r\n\r\nx\r\n',
    mailFrom: '',
    forwarded: ['always', 'webhook_failed', 'needs_human'],
  },
  spam: { content: 'From: x@forged.example\r\nSubject: spam\r\n\r\nx\r\n', forwarded: [] },
}

for (const forwardWhen of ['always', 'needs_human', 'webhook_failed']) {
  t.test(`what is forwarded: ${forwardWhen}`, async t => {
    const { app, mail, copies, peer, events } = await setUp(t, { forwardWhen })
    for (const { content, mailFrom } of Object.values(kinds)) await mail(content, mailFrom)
    const expected = Object.keys(kinds).filter(kind => kinds[kind]!.forwarded.includes(forwardWhen))
    t.equal((await copies()).length, expected.length)
    await carryAll(app)
    t.strictSame(
      peer.messages.map(message => /^Subject: (.*)\r$/m.exec(message)?.[1]),
      expected,
    )
    for (const copy of await copies()) t.match(copy, { state: 'delivered', recipient: target })
    t.strictSame([...new Set(await events())], ['message.received'], 'of copies nothing is told')
    const states = (await app.store.read.selectFrom('message').select('status').execute()).map(
      one => one.status,
    )
    t.strictSame([...new Set(states)], ['received'])
  })
}

t.test('the copy: the original untouched below its trace, from a reverse-path of ours', async t => {
  const { app, dns, peer, mail, copies, raw } = await setUp(t)
  const key = await generateDkimKey()
  dns.set('s._domainkey.theirs.example', 'TXT', [`v=DKIM1; k=rsa; p=${key.publicKeyBase64}`])
  dns.set('_dmarc.theirs.example', 'TXT', ['v=DMARC1; p=reject'])
  const signer = { domain: 'theirs.example', selector: 's', privateKeyPem: key.privateKeyPem }
  const small = Buffer.from(letter('Grüße', 'Reply-To: bob@theirs.example', 'Return-Path: <x@y.example>'))
  const large = Buffer.from(`${letter('large')}${`${'ä'.repeat(400)}\r\n`.repeat(1000)}`)
  const dnsClient = createDns({ servers: [dns.server], timeoutMs: 1000 })
  const authenticator = testAuthenticator(dnsClient)
  for (const [index, content] of [small, large].entries()) {
    const message = await mail(await signDkim(content, { ...signer, signedAt: new Date() }))
    t.match(JSON.parse(message.authentication), { dkim: 'pass', dmarc: 'pass' })
    await carryAll(app)
    const copy = Buffer.from(peer.messages[index]!, 'latin1')
    const original = await raw(message)
    const trace = copy.subarray(0, copy.length - original.length).toString()
    t.ok(copy.subarray(trace.length).equals(original), 'byte for byte')
    t.match(
      trace,
      /^ARC-Seal: i=1; a=rsa-sha256; cv=none;(?:.*\r\n\t)+.*\r\nARC-Message-Signature: (?:.*\r\n\t)+.*\r\nARC-Authentication-Results: i=1; mail\.ours\.example;(?:.*\r\n\t)+.*\r\nX-Forwarded-To: ann@elsewhere\.example\r\nX-Forwarded-For: agent@ours\.example ann@elsewhere\.example\r\nDelivered-To: agent@ours\.example\r\nAuthentication-Results: mail\.ours\.example;(?:.*\r\n\t)+.*\r\nReceived: from client\.example .*\r\n\tby mail\.ours\.example [^\r]*\r\n\tfor <agent@ours\.example>; [^\r]*\r\n$/,
    )
    const { mailFrom } = (await copies())[index]!
    t.match(mailFrom, /^srs0=[a-z2-7]{10}=[a-z2-7]{2}=theirs\.example=bob@bounce\.ours\.example$/)
    const commands = peer.commands.filter(command => /^(MAIL|RCPT)/.test(command)).slice(-2)
    t.match(commands[0], `MAIL FROM:<${mailFrom}>`)
    t.match(commands[0], 'BODY=8BITMIME')
    t.match(commands[1], `RCPT TO:<${target}>`)
    t.match(
      await authenticator.authenticate({
        raw: copy,
        remoteAddress: '127.0.0.1',
        helo: 'mail.ours.example',
        mailFrom: mailFrom!,
      }),
      { spf: 'pass', dkim: 'pass', dmarc: 'pass', spfDomain: 'bounce.ours.example' },
      'what its receiver finds',
    )
  }
  t.notMatch(peer.messages[0]!.split('Received:')[0], /^(?:reply-to|return-path)/im)
})

t.test('a copy is sealed by no key of a domain that another pod has', async t => {
  const { app, mail, peer } = await setUp(t)
  const { id } = await createPod(app, { name: 'Other' })
  const have = (podId: string | null, verifiedAt: string | null) =>
    app.store.write(db =>
      db
        .updateTable('domain')
        .set({ podId, verifiedAt, status: 'verified' })
        .where('domain', '=', 'ours.example')
        .execute(),
    )
  const { status, verifiedAt } = (await app.store.read
    .selectFrom('domain')
    .selectAll()
    .where('domain', '=', 'ours.example')
    .executeTakeFirst())!
  for (const podId of [null, id]) {
    await mail(letter('hello'))
    await have(podId, verifiedAt ?? app.clock.now().toISOString())
    await carryAll(app)
  }
  t.strictSame(
    peer.messages.map(copy => copy.startsWith('ARC-Seal:')),
    [true, false],
  )
  await app.store.write(db =>
    db
      .updateTable('domain')
      .set({ podId: null, verifiedAt, status })
      .where('domain', '=', 'ours.example')
      .execute(),
  )
})

t.test('each copy has a reverse-path of its own, the same at every attempt', async t => {
  const replies = ['450 4.2.0 greylisted']
  const { app, mail, copies, peer } = await setUp(t, { script: { RCPT: () => replies.shift() ?? '250 ok' } })
  await mail(letter('one'))
  await mail(letter('two'))
  await carryAll(app)
  await app.store.write(db =>
    db.updateTable('queueEntry').set({ dueAt: systemClock.now().toISOString() }).execute(),
  )
  await carryAll(app)
  const [one, two] = await copies()
  t.not(one?.mailFrom, two?.mailFrom)
  const said = peer.commands.flatMap(command => /^MAIL FROM:<(.*?)>/.exec(command)?.[1] ?? [])
  t.strictSame(said, [one?.mailFrom, two?.mailFrom, one?.mailFrom])
})

t.test('a bounce is passed on without a reverse-path', async t => {
  const { app, peer, mail, copies } = await setUp(t)
  await mail(kinds.bounce!.content, '')
  t.match(await copies(), [{ mailFrom: null }])
  await carryAll(app)
  t.match(peer.commands.join('\n'), /^MAIL FROM:<>/m)
})

t.test('three hard bounces in a row end it; what speaks of us counts for nothing', async t => {
  const gone = '550 5.1.1 no such user'
  const ok = '250 ok'
  const replies = [gone, gone, '550 5.7.1 on our list', ok, gone, gone, gone]
  const { app, mail, copies, status, log, peer } = await setUp(t, {
    script: { RCPT: () => replies.shift() ?? '250 ok' },
  })
  for (let left = replies.length; left > 0; left--) {
    t.equal(await status(), 'active', `${left} to come`)
    await mail(letter(String(left)))
    await carryAll(app)
  }
  t.equal(await status(), 'disabled')
  t.match(
    (await copies()).map(copy => copy.state),
    ['failed', 'failed', 'failed', 'delivered', 'failed', 'failed', 'failed'],
  )
  t.match(
    log.filter(entry => entry.msg === 'forwarding disabled'),
    [{ kind: 'bounce' }],
  )
  const { rows } = await listSuppressions(app, undefined, { limit: 10, offset: 0 })
  t.match(rows, [{ reason: 'bounce', evidence: `550 5.1.1 no such user`, podId: null }])
  await mail(letter('after'))
  t.equal((await copies()).length, 7, 'copies stop')
  t.equal(peer.messages.length, 1)
})

t.test(
  'what a host says of an address once it has the copy suppresses for the pod of the inbox alone',
  async t => {
    const { app, inbox, mail, status } = await setUp(t, { script: { message: '550 5.1.1 no such user' } })
    for (const name of ['1', '2', '3']) {
      await mail(letter(name))
      await carryAll(app)
    }
    t.equal(await status(), 'disabled')
    const { rows } = await listSuppressions(app, undefined, { limit: 10, offset: 0 })
    t.match(rows, [{ reason: 'bounce', podId: inbox.podId }])
  },
)

t.test('a host that takes copies and sends them back', async t => {
  const { app, inbox, mail, copies, status } = await setUp(t)
  const comeBack = async (copy: DeliveryRow) => {
    await app.store.write(db =>
      noteForwardFailure(
        app,
        db,
        copy,
        {
          result: 'permanent',
          code: 550,
          enhanced: '5.1.1',
          text: 'no such user',
          durationMs: 0,
        },
        'mail',
      ),
    )
  }
  const take = async () => {
    await mail(letter('x'))
    await carryAll(app)
    return (await copies()).at(-1)!
  }
  await comeBack(await take())
  t.equal((await copies()).at(-1)?.state, 'failed')
  const second = await take()
  await comeBack(second)
  await comeBack((await copies()).at(-1)!)
  t.equal(await status(), 'active', 'what comes back twice counts once')
  await take()
  await comeBack(await take())
  t.equal(await status(), 'active', 'one that stayed there began the count anew')
  await comeBack(await take())
  const last = await take()
  await changeInbox(app, operator, inbox.id, { forwardTo: null })
  await comeBack(last)
  t.equal(await status(), null)
  await changeInbox(app, operator, inbox.id, { forwardTo: target })
  for (const _ of [1, 2]) await comeBack(await take())
  t.equal(await status(), 'active')
  await comeBack(await take())
  t.equal(await status(), 'disabled', 'three, each taken first')
})

t.test('one complaint ends it, and what is still queued does not leave', async t => {
  const { app, mail, copies, status, peer } = await setUp(t)
  await mail(letter('one'))
  await carryAll(app)
  await mail(letter('two'))
  const [first] = await copies()
  await app.store.write(db => noteForwardFailure(app, db, first!, 'complaint', 'mail'))
  t.equal(await status(), 'disabled')
  await carryAll(app)
  t.equal(peer.messages.length, 1)
  t.match(await copies(), [
    { state: 'delivered' },
    { state: 'failed', replyText: /suppression list \(complaint\)/ },
  ])
})

t.test('loops and addresses that became ours', async t => {
  const { app, mail, copies, status, peer, log } = await setUp(t)
  await mail(
    letter('1', 'Delivered-To: other@ours.example', 'X-Forwarded-For: ann@gmail.example agent@ours.example'),
  )
  await mail(letter('2', 'delivered-to:  Agent@OURS.example '))
  await mail(letter('3', 'X-Forwarded-For: agent@ours.example', '\tann@elsewhere.example'))
  await carryAll(app)
  t.strictSame(
    (await copies()).map(copy => [copy.state, copy.replyText]),
    [
      ['delivered', 'taken'],
      ['failed', 'not forwarded: it came through this inbox before'],
      ['failed', 'not forwarded: it came through this inbox before'],
    ],
  )
  t.equal(
    log.filter(entry => String(entry.text).startsWith('not forwarded')).length,
    2,
    'and the log says so',
  )
  t.equal(await status(), 'active')

  // Whoever merely adds the domain of the address does not stop its copies.
  const before = peer.messages.length
  const row = await app.store.read.selectFrom('domain').selectAll().executeTakeFirstOrThrow()
  const added = { id: app.ids.next(), domain: 'elsewhere.example', status: 'pending', verifiedAt: null }
  const pod = await app.store.read.selectFrom('pod').select('id').executeTakeFirstOrThrow()
  await app.store.write(db => insertDomain(db, { ...row, ...added, podId: pod.id }))
  await mail(letter('4'))
  await carryAll(app)
  t.equal(peer.messages.length, before + 1)

  await mail(letter('5'))
  const verified = {
    id: app.ids.next(),
    domain: 'elsewhere.example',
    status: 'verified',
    verifiedAt: '2026-01-01T00:00:00.000Z',
  }
  await app.store.write(db => insertDomain(db, { ...row, ...verified }))
  await carryAll(app)
  t.match((await copies()).at(-1), { state: 'failed', replyText: /one of this server by now/ })
  t.equal(peer.messages.length, before + 1)
})

t.test('what comes through a loop of two servers stops after one round', async t => {
  const { app, mail, peer, copies } = await setUp(t)
  await mail(letter('round'))
  await carryAll(app)
  await mail(peer.messages[0]!.replace(/\r\n$/, ''))
  await carryAll(app)
  t.equal(peer.messages.length, 1)
  t.match(await copies(), [{ state: 'delivered' }, { state: 'failed' }])
})

t.test('webhook_failed: at once without webhook and reader, else when the webhook is given up', async t => {
  const { app, inbox, mail, copies } = await setUp(t, { forwardWhen: 'webhook_failed' })
  const giveUp = (id: string) => app.store.write(db => forwardIfUndelivered(app, db, id))
  const counted = async () => (await copies()).length
  const other = app.readers.add(event => event.inboxId !== inbox.id)
  const plain = await mail(letter('nobody'))
  t.equal(await counted(), 1)
  await giveUp(plain.id)
  t.equal(await counted(), 1, 'it was forwarded already')

  other()
  const leave = app.readers.add(event => event.type === 'message.received' && event.inboxId === inbox.id)
  await mail(letter('reader'))
  t.equal(await counted(), 1)
  leave()

  await app.store.write(db =>
    db
      .updateTable('account')
      .set({ webhookUrl: 'https://hook.example/', webhookSecret: sealedText('s') })
      .execute(),
  )
  const hooked = await mail(letter('webhook'))
  const spam = await mail(kinds.spam!.content)
  t.equal(await counted(), 1)
  await giveUp(hooked.id)
  t.equal(await counted(), 2)
  await giveUp(hooked.id)
  await giveUp(spam.id)
  await giveUp(app.ids.next())
  t.equal(await counted(), 2, 'once, never spam, and nothing for what is gone')

  const late = await mail(letter('late'))
  await changeInbox(app, operator, inbox.id, { forwardWhen: 'always' })
  await giveUp(late.id)
  t.equal(await counted(), 2, 'only while the inbox wants that')
  await mail(letter('always'))
  t.equal(await counted(), 3)
})

t.test('pending, suppressed, captured', async t => {
  const { app, inbox, mail, copies, peer } = await setUp(t, { toml: '[delivery]\nmode = "capture"' })
  await changeInbox(app, operator, inbox.id, { forwardTo: 'bea@elsewhere.example' })
  await mail(letter('pending'))
  t.equal((await copies()).length, 0)
  await changeInbox(app, operator, inbox.id, { forwardTo: target })
  await mail(letter('captured'))
  await carryAll(app)
  t.match(await copies(), [{ state: 'delivered', captured: 1 }])
  await addSuppression(app, { recipient: target })
  await mail(letter('suppressed'))
  t.equal((await copies()).length, 1)
  t.equal(peer.connections, 0)
})

t.test('what answers a copy by itself is not copied', async t => {
  const { app, inbox, copies } = await setUp(t)
  const reception = async (rcptTo: string) => {
    const recipients = [{ ...(await resolveRecipient(app, inbox.address)), rcptTo }]
    const content = { kind: 'memory', bytes: Buffer.from(letter('away')) } as const
    const peer = { kind: 'local' } as const
    return prepareReception(createReceiver(app), {
      sessionId: 's',
      mailFrom: target,
      recipients,
      content,
      peer,
    })
  }
  const answer = await reception('SRS0=abc=de=theirs.example=bob@bounce.ours.example')
  await app.store.write(db => writeReception(app, db, answer))
  t.equal((await copies()).length, 0)
  const bounce = await reception('b-0123456789abcdefghijklmn@bounce.ours.example')
  await app.store.write(db => writeReception(app, db, bounce))
  t.equal((await copies()).length, 1, 'what came back of the own mail of the inbox is')
})

t.test('mail between inboxes here is forwarded, too', async t => {
  const { app, inbox: agent, peer } = await setUp(t)
  const sender = await createInbox(app, operator, { mailboxName: 'sender' })
  await send(app, operator, sender.id, { to: agent.address, subject: 'local', body: 'x' }, 'key')
  await carryAll(app)
  t.equal(peer.messages.length, 1)
  t.match(peer.messages[0], /^X-Forwarded-To: [\s\S]*\r\nReceived: by mail\.ours\.example/)
  t.match(peer.commands.join('\n'), /MAIL FROM:<srs0=\w+=\w\w=ours\.example=sender@bounce\.ours\.example>/)
})

t.test('the mail that asks is signed, and its failure is for the inbox to see', async t => {
  const replies = ['250 ok', '550 5.1.1 no such user']
  const { app, inbox, dns, peer, events } = await setUp(t, { script: { RCPT: () => replies.shift()! } })
  const domain = await app.store.read.selectFrom('domain').selectAll().executeTakeFirstOrThrow()
  dns.set(`${domain.selector}._domainkey.ours.example`, 'TXT', [`v=DKIM1; k=rsa; p=${domain.dkimPublicKey}`])
  await changeInbox(app, operator, inbox.id, { forwardTo: 'bea@elsewhere.example' })
  await carryAll(app)
  // RFC 5321 §4.5.2: the peer keeps the dots that are doubled on the wire.
  const mail = peer.messages[0]?.replaceAll(/^\.\./gm, '.')
  t.match(mail, /^Auto-Submitted: auto-generated\r$/m)
  t.match(peer.commands.join('\n'), /^MAIL FROM:<>/m)
  t.match(mail, /^From: "?mail\.ours\.example"? <no-reply@ours\.example>\r$/m)
  await t.rejects(
    resolveRecipient(app, 'no-reply@ours.example'),
    { code: 550 },
    'what answers it finds nobody',
  )
  t.match(mail, /^Content-Type: text\/html/m)
  t.match(mail?.replaceAll('=\r\n', ''), /agent@ours\.example[\s\S]*bea@elsewhere\.example/)
  const authenticator = testAuthenticator(createDns({ servers: [dns.server], timeoutMs: 1000 }))
  const input = { remoteAddress: '127.0.0.1', helo: 'x', mailFrom: '' }
  t.match(await authenticator.authenticate({ ...input, raw: Buffer.from(mail!, 'latin1') }), { dkim: 'pass' })
  const stored = await app.store.read
    .selectFrom('message')
    .selectAll()
    .where('toAddr', '=', 'bea@elsewhere.example')
    .executeTakeFirstOrThrow()
  t.match(mail, `Message-ID: ${stored.rfcMessageId}`)
  t.equal(stored.inboxId, inbox.id)

  await changeInbox(app, operator, inbox.id, { forwardTo: 'cid@elsewhere.example' })
  await carryAll(app)
  t.strictSame(await events(), ['message.delivered', 'message.sent', 'message.bounced'])
  t.match(await getInbox(app, operator, inbox.id), { forwardStatus: 'pending' })
  await t.rejects(changeInbox(app, operator, inbox.id, { forwardTo: 'cid@elsewhere.example' }), {
    code: 'invalid_forward_to',
    more: { type: 'bounce' },
  })
})

t.test('a deleted inbox: its questions go with it, but not those that still count', async t => {
  const { app, inbox, peer } = await setUp(t)
  await changeInbox(app, operator, inbox.id, { forwardTo: 'bea@elsewhere.example' })
  const question = async () => app.store.read.selectFrom('forwardConfirmation').selectAll().execute()
  const purge = async () => {
    while ((await purgeDeletedInboxes(app)) > 0);
  }
  await deleteInbox(app, operator, inbox.id)
  await carryAll(app)
  t.strictSame([peer.messages.length, (await claim(app.queue, 'delivery', 9)).length], [0, 0])
  await purge()
  t.equal((await question()).length, 1)

  const old = await createInbox(app, operator, { forwardTo: 'cid@elsewhere.example' })
  const createdAt = new Date(systemClock.now().getTime() - 3_700_000).toISOString()
  await app.store.write(db =>
    db.updateTable('forwardConfirmation').set({ createdAt }).where('inboxId', '=', old.id).execute(),
  )
  await deleteInbox(app, operator, old.id)
  await purge()
  t.match(await question(), [{ inboxId: inbox.id }])
  t.ok(forwardConfirmationMs > 3_700_000)
})

t.test('results of authentication that claim to be ours go nowhere, and those of others do', async t => {
  const { app, peer, mail, raw } = await setUp(t)
  const claim = 'Authentication-Results: mail.ours.example; dmarc=pass header.from=bank.example'
  const theirs = 'Authentication-Results: theirs.example; dmarc=pass'
  const message = await mail(letter('claims', claim, theirs))
  t.ok((await raw(message)).includes(claim), 'what came is kept as it came')
  await carryAll(app)
  const { content } = await openRaw(app, operator, message.id, { withTrace: true })
  const traced = await text(content)
  for (const passedOn of [peer.messages[0]!, traced]) {
    t.notOk(passedOn.includes('bank.example'))
    t.ok(passedOn.includes(theirs))
    t.match(passedOn, /^Authentication-Results: mail\.ours\.example;/m, 'our own')
  }
})
