import { createHash } from 'node:crypto'
import { dkimSign } from 'mailauth'
import t, { type Test } from 'tap'
import { operator } from '../../../lib/core/app/caller.ts'
import { deferralMs } from '../../../lib/core/inbound/deferral.ts'
import { prepareReception } from '../../../lib/core/inbound/receive.ts'
import { createReceiver, deferralsPerNetwork } from '../../../lib/core/inbound/receiver.ts'
import { writeReception } from '../../../lib/core/inbound/write.ts'
import { openRaw } from '../../../lib/core/mailbox/raws.ts'
import { deriveRecipients } from '../../../lib/core/outbound/correspondents.ts'
import { replacePolicy } from '../../../lib/core/policy/rules.ts'
import { dkimRecord, generateDkimKey, signDkim } from '../../../lib/mail/compose/dkim.ts'
import { sealArc, sealedPart } from '../../../lib/mail/signature/arc-seal.ts'
import { hashMessage } from '../../../lib/mail/signature/message.ts'
import type { MailReader } from '../../../lib/reading/pool.ts'
import { smtpRefusals } from '../../../lib/smtpd/session-bounds.ts'
import { type DnsZone, startDns } from '../../support/dns.ts'
import { greetedDialog } from '../../support/smtp-dialog.ts'
import { openDoor } from '../../support/smtp-door.ts'

// Over a real socket: strangers with a domain of their own in good order (evil.example), who would be somebody else.

const key = await generateDkimKey()
// One instant for all: a message that is signed again is the same to the byte, and comes again as such.
const signedAt = new Date()
const signerOf = (domain: string) => ({
  domain,
  selector: 's',
  privateKeyPem: key.privateKeyPem,
  signedAt,
})
const ours = { TXT: ['v=spf1 ip4:127.0.0.1 -all'] }
const record = { TXT: [dkimRecord(key.publicKeyBase64)] }
const zone: DnsZone = {
  'evil.example': ours,
  '_dmarc.evil.example': { TXT: ['v=DMARC1; p=reject'] },
  's._domainkey.evil.example': record,
  'trusted.example': { TXT: ['v=spf1 -all'] },
  '_dmarc.trusted.example': { TXT: ['v=DMARC1; p=reject'] },
  's._domainkey.trusted.example': record,
  'careful.example': { TXT: ['v=spf1 -all'] },
  '_dmarc.careful.example': { TXT: ['v=DMARC1; p=quarantine'] },
  'macro.trusted.example': { TXT: ['v=spf1 exists:%{l}.users.trusted.example -all'] },
  'strict.example': { TXT: ['v=spf1 -all'] },
  's._domainkey.strict.example': record,
  'list.example': ours,
  's._domainkey.list.example': record,
}

async function setUp(t: Test, toml = '') {
  const dns = await startDns(zone)
  t.teardown(() => dns.close())
  const door = await openDoor(t, { dns: dns.server, toml })
  const ann = await door.inbox('ann')
  let dialog = await greetedDialog(door.port)
  let count = 0
  return {
    ...door,
    dns,
    ann,
    /** Hands a message in; gives the reply to its end. */
    async mail(content: string | Buffer, mailFrom = 'x@evil.example') {
      // A session ends after some refusals.
      if (++count % (smtpRefusals / 2) === 0) dialog = await greetedDialog(door.port)
      await dialog.envelope(mailFrom, 'ann@ours.example')
      // It ends the last line itself.
      const { code, text } = await dialog.data(content.toString().replace(/\r\n$/, ''))
      // So does one in which a message was broken (a bare CR).
      if (code === 550 && text.includes('5.6.0')) dialog = await greetedDialog(door.port)
      return text
    },
    async newest() {
      const message = (await door.messages()).at(-1)!
      return { ...message, authentication: JSON.parse(message.authentication) }
    },
    deferrals: () => door.app.store.read.selectFrom('authenticationDeferral').selectAll().execute(),
    allow: (...values: string[]) =>
      replacePolicy(
        door.app,
        operator,
        { inbox: ann },
        { inbound: { mode: 'allowlist', rules: values.map(value => ({ type: 'allow', value })) } },
      ),
  }
}

const letter = (from: string, more: readonly string[] = [], body = 'Pay me.') =>
  [...more, `From: ${from}`, 'To: ann@ours.example', 'Subject: s', '', body, ''].join('\r\n')
const bodyHash = createHash('sha256').update('Pay me.\r\n').digest('base64')
const forged = 'Boss <boss@trusted.example>'
const signature = (d: string, s: string, more = 'bh=AAAA; b=AAAA') =>
  `DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=${d}; s=${s}; h=from; ${more}`

/** Names that DNS can't be asked for, or that are none. */
const unaskable = [
  '',
  '.',
  '..',
  'a..b',
  '.a',
  'a.',
  'a b',
  'a\tb',
  'a\x01b',
  'a\x7fb',
  'a\xe9b',
  'a\\.b',
  'a"b',
  'a(b',
  'a@b',
  'a/b',
  '*',
  '-a',
  'a-',
  'a'.repeat(64),
  `${'a'.repeat(60)}.`.repeat(5).slice(0, -1),
]

t.test('p=reject is not evaded', async t => {
  const { mail, messages, dns, deferrals } = await setUp(t)
  for (const name of ['lame.evil.example', 's._domainkey.lame.evil.example', '_dmarc.lame.evil.example']) {
    dns.fail(name, 'SERVFAIL')
  }
  const tries: (readonly [string, readonly string[], string?])[] = [
    ['nothing', []],
    ['a signature of their own', [], 'boss@evil.example'],
    ['an unknown selector', [signature('trusted.example', 'nosuch')]],
    ['a wrong signature', [signature('trusted.example', 's')]],
    ...unaskable.map(name => [`selector ${name}`, [signature('trusted.example', name)]] as const),
    ...unaskable.map(name => [`domain ${name}`, [signature(`${name}.trusted.example`, 's')]] as const),
    ...unaskable.map(name => [`of ${name}`, [signature(name, 's')]] as const),
    ...['l=0', 'l=99999999999999999999999', 'l=-1', 'x=1', 'i=@evil.example', 'q=dns/x', 'c=a/b'].map(
      tag => [tag, [signature('trusted.example', 's', `${tag}; bh=AAAA; b=AAAA`)]] as const,
    ),
    ['a tag twice', [signature('trusted.example', 's', 's=t; bh=AAAA; b=AAAA')]],
    ['no tags', ['DKIM-Signature: d=trusted.example']],
    ['a key of theirs that is not to be had', [signature('lame.evil.example', 's')]],
    ['SPF of theirs that is not to be had', [], 'x@lame.evil.example'],
    ['both', [signature('lame.evil.example', 's')], 'x@lame.evil.example'],
    ['a reverse-path below', [], 'x@nosuch.trusted.example'],
    ...["o'x", 'a$b', 'a%b', 'a{b', 'a|b', 'a`b', 'a'.repeat(64)].map(
      local => [`a macro with ${local}`, [], `${local}@macro.trusted.example`] as const,
    ),
    ['the null reverse-path', [], ''],
    ['results', ['Authentication-Results: mail.ours.example; dmarc=pass header.from=trusted.example']],
    ['a chain', ['ARC-Seal: i=1; cv=none; a=rsa-sha256; d=list.example; s=s; b=AAAA']],
  ]
  for (const [what, fields, mailFrom] of tries) {
    const reply = await mail(letter(forged, fields), mailFrom)
    t.match(reply, /^550 5\.7\.26 trusted\.example asks .*p=reject/, JSON.stringify(what))
  }
  const many = Array.from({ length: 40 }, (_, i) => signature('lame.evil.example', `s${i}`))
  t.match(await mail(letter(forged, many)), /^550 5\.7\.26 /, 'many')
  t.match(await mail(letter('boss@nosuch.trusted.example')), /^550 5\.7\.26 /, 'a name below')
  t.match(
    await mail(letter('boss@ｔrusted.example')),
    /^550 5\.7\.26 trusted\.example /,
    'a domain of other letters',
  )
  t.strictSame(await messages(), [])
  t.strictSame(await deferrals(), [])
})

t.test('what the domain asks for less, and what the operator says', async t => {
  const { mail, newest } = await setUp(t)
  t.match(await mail(letter('boss@careful.example')), /^250 /)
  t.match(await newest(), { verdict: 'spam', category: 'spam', authentication: { dmarc: 'fail' } })
  for (const [how, verdict] of [
    ['mark', 'spam'],
    ['off', 'clean'],
  ] as const) {
    const door = await setUp(t, `dmarc_reject = "${how}"`)
    t.match(await door.mail(letter(forged)), /^250 /)
    t.match(await door.newest(), { verdict, authentication: { dmarc: 'fail' } })
    await door.allow('trusted.example')
    const { id } = await door.newest()
    await door.mail(letter(forged))
    t.equal((await door.newest()).id, id, 'it is proven in no case')
  }
})

t.test('nobody passes an allowlist as somebody else', async t => {
  const { mail, allow, newest, messages } = await setUp(t, 'dmarc_reject = "mark"')
  await allow('trusted.example')
  const word = (text: string) => `=?utf-8?B?${Buffer.from(text).toString('base64')}?=`
  const real = (await signDkim(Buffer.from(letter(forged)), signerOf('trusted.example'))).toString('latin1')
  // What a program of before signed once and did not oversign.
  const single = real.replace(/\r\nFrom: /g, '\r\nFROM: ')
  const froms = [
    forged,
    `${forged}, x@evil.example`,
    `x@evil.example, ${forged}`,
    `${word(forged)} <x@evil.example>`,
    `x: ${word(forged)};, x@evil.example`,
    `${word(forged)}, x@evil.example`,
    `"${forged}" <x@evil.example>`,
    `(${forged}) x@evil.example`,
    `x@evil.example (${forged})`,
    'boss@trusted.example@evil.example',
    '<@evil.example:boss@trusted.example>',
    'boss@trusted.example.',
    'boss@trusted.example\x00.evil.example',
    '\x1b$B<x@evil.example>\x1b(B <boss@trusted.example>',
    'x@evil.example\r\nFrom: boss@trusted.example',
    'boss@trusted.example\r\nFrom: x@evil.example',
    'x@evil.example\r\nFrom : boss@trusted.example',
    'x@evil.example\r\nno field\r\nFrom: boss@trusted.example',
    'boss@trusted.example\r\nno field\r\nFrom: x@evil.example',
    'x@evil.example\r\nSender: boss@trusted.example',
    'x@evil.example\r\nReply-To: boss@trusted.example',
    'x@evil.example\r\nResent-From: boss@trusted.example',
    'x@evil.example\r\nContent-Type: text/plain; charset=iso-2022-jp\r\nX: \x1b(BFrom: boss@trusted.example',
    '',
    'boss',
  ]
  for (const from of froms) {
    const content = Buffer.from(letter(from), 'latin1')
    await mail(content)
    await mail(letter(from, ['Authentication-Results: mail.ours.example; dmarc=pass']), 'x@evil.example')
    // Signed in order, by their own domain; what has no From can't be signed.
    if (from !== '') await mail(await signDkim(content, signerOf('evil.example')))
  }
  for (const [what, content] of Object.entries({
    'a real one below another From': `From: ceo@trusted.example\r\n${real}`,
    'a real one below a From and a line that is none': `From: ceo@trusted.example\r\nno field\r\n${real}`,
    'one below a From and an empty line': `From: ceo@trusted.example\r\n\r\n${real}`,
    'a real one above another From': real.replace('\r\nTo:', '\r\nFrom: ceo@trusted.example\r\nTo:'),
    'with another name': real.replace('boss@', 'ceo@'),
    'with another body': real.replace('Pay me.', 'Pay him.'),
    'of a key of another domain': single.replace('d=trusted.example', 'd=evil.example'),
  })) {
    const before = (await messages()).length
    await mail(content)
    t.equal((await messages()).length, before, what)
  }
  t.strictSame(await messages(), [])
  t.match(await mail(real), /^250 /)
  t.match(await newest(), { fromAddr: 'boss@trusted.example', authentication: { dmarc: 'pass' } })
})

t.test(
  'a Reply-To that a stranger added to a signed message is not followed, and stands in the raw',
  async t => {
    const { mail, allow, newest, app } = await setUp(t)
    await allow('trusted.example')
    const genuine = letter(forged)
    const signing = { signingDomain: 'trusted.example', selector: 's', privateKey: key.privateKeyPem }
    const { signatures } = await dkimSign(genuine, {
      canonicalization: 'relaxed/relaxed',
      ...signing,
      signatureData: [{ ...signing, headerList: 'from:subject' }],
    })
    t.match(await mail(`Reply-To: x@evil.example\r\n${signatures}${genuine}`), /^250 /)
    const message = await newest()
    t.match(message, {
      fromAddr: 'boss@trusted.example',
      authentication: { dmarc: 'pass' },
      verdict: 'clean',
    })
    t.notOk(message.replyTo)
    const asked = { isToAll: false, participants: null }
    t.strictSame(deriveRecipients(message as never, 'ann@ours.example', asked).to, [
      { address: 'boss@trusted.example', written: 'boss@trusted.example', name: 'Boss' },
    ])
    const raw = await app.store.read
      .selectFrom('raw')
      .selectAll()
      .where('id', '=', message.rawId)
      .executeTakeFirstOrThrow()
    t.match(String(raw.content), 'Reply-To: x@evil.example')
  },
)

t.test('what the SPF of its own domain denies is spam, where that has no DMARC policy', async t => {
  const { mail, newest } = await setUp(t)
  t.match(await mail(letter('ann@strict.example'), 'ann@strict.example'), /^250 /)
  t.match(await newest(), {
    verdict: 'spam',
    category: 'spam',
    authentication: { spf: 'fail', dmarc: 'none' },
  })
  const signed = await signDkim(Buffer.from(letter('ann@strict.example')), signerOf('strict.example'))
  t.match(await mail(signed, 'ann@strict.example'), /^250 /)
  t.match(await newest(), { verdict: 'clean', authentication: { spf: 'fail', dkim: 'pass', dmarc: 'none' } })
})

/** A message from evil.example, handed in without a socket. */
async function arrivalAt({ app, ann }: Awaited<ReturnType<typeof setUp>>, from: string) {
  const { podId, address } = await app.store.read
    .selectFrom('inbox')
    .selectAll()
    .where('id', '=', ann)
    .executeTakeFirstOrThrow()
  return {
    sessionId: 's',
    mailFrom: 'x@evil.example',
    recipients: [{ inboxId: ann, podId, address, rcptTo: address }],
    peer: { kind: 'smtp', remoteAddress: '127.0.0.1', helo: 'x.example', protocol: 'ESMTP', tls: undefined },
    content: { kind: 'memory', bytes: Buffer.from(letter(from)) },
  } as const
}

t.test('what was judged of one mailbox is paired with no other', async t => {
  const door = await setUp(t)
  const { app, messages } = door
  for (const [from, judged, read] of [
    ['x@evil.example', 'boss@trusted.example', undefined],
    ['x@evil.example', undefined, undefined],
    ['x@evil.example, boss@trusted.example', 'boss@trusted.example', undefined],
    // The thread that reads has two answers, and each is held to what the header says here.
    ['x@evil.example', 'boss@trusted.example', 'boss@trusted.example'],
    ['x@evil.example', 'x@evil.example', 'boss@trusted.example'],
  ] as const) {
    const mailReader: MailReader = {
      ...app.mailReader,
      async read(request, party) {
        const reading = await app.mailReader.read(request, party)
        const author = read === undefined ? reading.message.author : { mailbox: { address: read, name: '' } }
        const message = { ...reading.message, author }
        const other = judged === undefined ? undefined : { address: judged, name: '' }
        return { ...reading, message, authentication: { ...reading.authentication!, judged: other } }
      },
    }
    const misjudging: typeof app = Object.create(app, { mailReader: { value: mailReader } })
    const arrival = await arrivalAt(door, from)
    await t.rejects(prepareReception(createReceiver(misjudging), arrival), /was judged and .* would be shown/)
  }
  t.strictSame(await messages(), [])
})

t.test('an author is not proven by a reading that failed', async t => {
  const door = await setUp(t)
  const { app, allow, newest } = door
  const mailReader: MailReader = {
    ...app.mailReader,
    async read(request, party) {
      return { ...(await app.mailReader.read(request, party)), isWhole: false, authentication: null }
    },
  }
  const failing: typeof app = Object.create(app, { mailReader: { value: mailReader } })
  const receive = async () => {
    const reception = await prepareReception(createReceiver(failing), await arrivalAt(door, 'x@evil.example'))
    return app.store.write(db => writeReception(app, db, reception))
  }
  t.equal((await receive()).length, 1)
  const authentication = { spf: 'temperror', dkim: 'temperror', dmarc: 'temperror' }
  t.match(await newest(), { verdict: 'spam', autoReplyable: 0, authentication })
  await allow('evil.example')
  t.strictSame(await receive(), [], 'and no allow rule lets it in')
})

t.test('what DNS does not say now is asked again, for a bounded time', async t => {
  const { mail, dns, app, messages, deferrals, newest, allow } = await setUp(t)
  const content = letter(forged, ['Message-ID: <one@evil.example>'])
  dns.fail('_dmarc.trusted.example', 'SERVFAIL')
  for (let attempt = 0; attempt < 3; attempt++) t.match(await mail(content), /^451 4\.7\.26 /)
  t.match(await deferrals(), [{ network: '127.0.0.0/24' }], 'one row, however often it is tried')
  const age = (ms: number) =>
    app.store.write(db =>
      db
        .updateTable('authenticationDeferral')
        .set({ firstAt: new Date(app.clock.now().getTime() - ms).toISOString() })
        .execute(),
    )
  await age(deferralMs - 60_000)
  t.match(await mail(content), /^451 4\.7\.26 /, 'until its time is over')
  t.strictSame(await messages(), [])
  await age(deferralMs + 60_000)
  t.match(await mail(letter(forged, ['Message-ID: <two@evil.example>'])), /^451 /, 'another has its own time')
  t.match(await mail(content), /^250 /)
  t.match(await newest(), { authentication: { dmarc: 'temperror' } })
  await allow('trusted.example')
  const { id } = await newest()
  await mail(content)
  t.equal((await newest()).id, id, 'and is proven by that in no way')
  await replacePolicy(
    app,
    operator,
    { inbox: (await newest()).inboxId },
    { inbound: { mode: 'none', rules: [] } },
  )

  dns.clear('_dmarc.trusted.example')
  t.match(await mail(content), /^550 5\.7\.26 /, 'DNS is back')
  // A key, or SPF, of the From domain or below it may have been what proves it.
  const unknown = letter(forged, [signature('trusted.example', 'down', `bh=${bodyHash}; b=AAAA`)])
  dns.fail('down._domainkey.trusted.example', 'SERVFAIL')
  t.match(await mail(unknown), /^451 4\.7\.26 /, 'an aligned key')
  dns.fail('sub.trusted.example', 'SERVFAIL')
  t.match(await mail(letter(forged), 'x@sub.trusted.example'), /^451 4\.7\.26 /, 'aligned SPF')
  await age(deferralMs + 60_000)
  t.match(await mail(unknown), /^250 /)
  t.match(await newest(), { verdict: 'spam', authentication: { dmarc: 'temperror' } })
})
t.test('what is remembered of that is bounded', async t => {
  const { mail, dns, app, deferrals } = await setUp(t)
  dns.fail('_dmarc.trusted.example', 'SERVFAIL')
  const firstAt = app.clock.now().toISOString()
  await app.store.write(async db => {
    for (let i = 0; i < deferralsPerNetwork; i++) {
      // From whichever address of the block they came: ten addresses of one network do not use up the room of all.
      const row = { id: `${i}`, network: '127.0.0.0/24', firstAt }
      await db.insertInto('authenticationDeferral').values(row).execute()
    }
  })
  t.match(await mail(letter(forged)), /^451 4\.7\.26 /)
  t.equal((await deferrals()).length, deferralsPerNetwork)
})

t.test('our results stand above it, and none that came from outside do', async t => {
  const { mail, app, newest, raw } = await setUp(t)
  const fake = 'spf=pass smtp.mailfrom=trusted.example; dmarc=pass header.from=trusted.example'
  const claims = [
    `Authentication-Results: mail.ours.example; ${fake}`,
    `authentication-results : MAIL.Ours.Example;\r\n\t${fake}`,
    `Authentication-Results:\r\n (a (nested) comment) mail.ours.example (x) 1; ${fake}`,
    `Authentication-Results: "mail.ours.example"; ${fake}`,
    `Authentication-Results: "mail\\.ours.example"; ${fake}`,
    `Authentication-Results: mail.ours.example.; ${fake}`,
    `Authentication-Results: mail.ours.example/1; ${fake}`,
    `Authentication-Results: (no end mail.ours.example; ${fake}`,
    'Authentication-Results: ',
  ]
  const others = [
    `Authentication-Results: mx.evil.example; ${fake}`,
    `Authentication-Results: mail.ours.example.evil.example; ${fake}`,
    'X-Authentication-Results: mail.ours.example; none',
  ]
  for (const size of [1, 400_000]) {
    const body = 'Authentication-Results: mail.ours.example; body\r\n\r\nx'.repeat(Math.ceil(size / 50))
    const content = letter('x@evil.example', [...claims, ...others], body)
    t.match(await mail(content), /^250 /)
    const message = await newest()
    t.equal((await raw(message)).toString(), content, 'the stored raw is as it came')
    const shown = await openRaw(app, operator, message.id, { withTrace: true })
    const bytes = Buffer.concat(await shown.content.toArray())
    t.equal(bytes.length, shown.sizeBytes)
    const expected = `${message.trace}${letter('x@evil.example', others, body)}`
    t.equal(bytes.toString(), expected)
    t.match(
      message.trace,
      /^Return-Path: <x@evil\.example>\r\nAuthentication-Results: mail\.ours\.example;\r\n\tdkim=none;\r\n\tspf=pass smtp\.mailfrom=evil\.example;\r\n\tdmarc=pass header\.from=evil\.example;\r\n\tarc=none smtp\.remote-ip="127\.0\.0\.1"\r\nReceived: /,
    )
    const plain = await openRaw(app, operator, message.id, { withTrace: false })
    const plainBytes = Buffer.concat(await plain.content.toArray())
    t.equal(plainBytes.length, plain.sizeBytes)
    t.equal(plainBytes.toString(), letter('x@evil.example', others, body), 'also without our own above it')
  }
})

/** A message that a list has changed and passed on with its ARC set. */
async function listed(
  found: string,
  { sealer = 'list.example', from = forged, change = (copy: string) => copy } = {},
): Promise<string> {
  const copy = Buffer.from(letter(from, ['List-Id: <l.list.example>'], 'Hello.\r\n-- \r\nthe list'))
  const message = await hashMessage(copy, () => [sealedPart])
  const seal = await sealArc(
    message,
    { results: `mx.${sealer};\r\n\t${found}`, chain: 'none' },
    signerOf(sealer),
  )
  return change(`${seal}${copy.toString()}`)
}

t.test('a trusted sealer excuses what it passed on, and proves nothing', async t => {
  const trusting = 'trusted_arc_sealers = ["list.example"]'
  const { mail, newest, allow, app } = await setUp(t, trusting)
  const pass = 'dmarc=pass header.from=trusted.example'
  const good = [
    pass,
    'dmarc=pass (p=reject) header.from=trusted.example',
    'spf=pass smtp.mailfrom=boss@trusted.example',
    'spf=pass smtp.mailfrom=bounce.trusted.example; dmarc=fail',
    'dkim=fail header.d=a.example; dkim=pass header.d=trusted.example',
    'dkim=pass header.i=@mail.trusted.example',
  ]
  for (const found of good) {
    t.match(await mail(await listed(found), 'l@list.example'), /^250 /, found)
    const message = await newest()
    t.match(message, { verdict: 'clean', authentication: { dmarc: 'fail' } })
    t.match(message.trace, /\r\n\tarc=pass /)
  }
  const bad = [
    'none',
    'dmarc=fail header.from=trusted.example',
    'dmarc=none',
    'dmarc=pass header.from=evil.example',
    'spf=pass smtp.mailfrom=x@evil.example',
    'spf=fail smtp.mailfrom=trusted.example',
    'dkim=pass header.d=evil.example',
    `dmarc=fail (dmarc=pass header.from=trusted.example)`,
    `spf=pass smtp.mailfrom="x; ${pass}; @evil.example"`,
    `spf=pass smtp.mailfrom="x@evil.example; ${pass}`,
    `dmarc=fail reason="; ${pass}"`,
    'xdmarc=pass header.from=trusted.example',
  ]
  for (const found of bad) {
    t.match(await mail(await listed(found), 'l@list.example'), /^550 5\.7\.26 /, found)
  }
  const changes: [string, (copy: string) => string][] = [
    ['another body', copy => copy.replace('Hello.', 'Pay.')],
    ['another From', copy => copy.replace('boss@', 'ceo@')],
    ['other results', copy => copy.replace('i=1; mx.', 'i=1; my.')],
    ['no seal', copy => copy.replace('ARC-Seal:', 'X-Seal:')],
    ['a failed chain', copy => copy.replace('cv=none', 'cv=fail')],
    ['a seal of another', copy => copy.replace(/(ARC-Seal:.*\r\n\t)d=list.example/, '$1d=evil.example')],
  ]
  for (const [what, change] of changes) {
    t.match(await mail(await listed(pass, { change }), 'l@list.example'), /^550 5\.7\.26 /, what)
  }
  t.match(
    await mail(await listed(pass, { sealer: 'evil.example' })),
    /^550 5\.7\.26 /,
    'one that is not trusted',
  )
  t.match(await mail(await listed(pass, { from: `${forged}, x@evil.example` })), /^250 /)
  t.match(await newest(), { verdict: 'spam', authentication: { dmarc: 'permerror' } }, 'whoever wrote it')

  await allow('trusted.example')
  const { id } = await newest()
  await mail(await listed(pass), 'l@list.example')
  t.equal((await newest()).id, id, 'an allow rule does not let it in')
  await replacePolicy(
    app,
    operator,
    { inbox: (await newest()).inboxId },
    { inbound: { mode: 'none', rules: [] } },
  )

  const strict = await setUp(t)
  t.match(await strict.mail(await listed(pass), 'l@list.example'), /^550 5\.7\.26 /, 'nobody is trusted')
  const other = await setUp(t, trusting)
  other.dns.fail('s._domainkey.list.example', 'SERVFAIL')
  // The same bytes: a seal of another second would make it another message, for it has no Message-ID.
  const held = await listed(pass)
  t.match(await other.mail(held, 'l@list.example'), /^451 4\.7\.26 /, 'its key is not to be had')
  await other.app.store.write(db =>
    db.updateTable('authenticationDeferral').set({ firstAt: '2000-01-01T00:00:00.000Z' }).execute(),
  )
  const waited = await other.mail(held, 'l@list.example')
  t.match(waited, /^550 5\.7\.26 /, 'and is not waited for without end')
})
