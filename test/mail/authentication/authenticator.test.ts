import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { Readable } from 'node:stream'
import { mock } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { dkimSign } from 'mailauth'
import t from 'tap'
import type { Clock } from '../../../lib/base/time.ts'
import { createDns } from '../../../lib/courier/dns.ts'
import { dkimSignatures } from '../../../lib/mail/authentication/dkim.ts'
import { dnsFreshMs } from '../../../lib/mail/authentication/dns-memory.ts'
import { dkimRecord, generateDkimKey, signDkim } from '../../../lib/mail/compose/dkim.ts'
import { dkimRecordLength } from '../../../lib/mail/signature/key.ts'
import { type TestMessage, testAuthenticator } from '../../support/authenticator.ts'
import { startDns } from '../../support/dns.ts'
import { zoneDns } from '../domain/zone-dns.ts'

const committed = new URL('../../data/', import.meta.url)
/** More of the same messages, beside the checkout. */
const shared = new URL('../../../../shared/corpora/dkim/mimekit/', import.meta.url)

const key = await generateDkimKey()
const body = 'Hello Bob\r\n'
const head = 'From: Ann <ann@example.com>\r\nTo: bob@example.net\r\nSubject: Hello\r\n'
const signer = {
  domain: 'example.com',
  selector: 's1',
  privateKeyPem: key.privateKeyPem,
  signedAt: new Date(1_800_000_000_000),
}
const plain = Buffer.from(`${head}\r\n${body}`)
const signed = await signDkim(plain, signer)
const keyName = 's1._domainkey.example.com'
const session = { remoteAddress: '192.0.2.1', helo: 'mx.example.com', mailFrom: 'ann@bounce.example.com' }

const dns = await startDns({
  'example.com': { A: ['192.0.2.9'] },
  'bounce.example.com': { TXT: ['v=spf1 ip4:192.0.2.1 -all'] },
  'mx.example.com': { TXT: ['v=spf1 a -all'], A: ['192.0.2.1'] },
  'other.example': { TXT: ['v=spf1 ip4:192.0.2.1 -all'] },
  [keyName]: { TXT: [dkimRecord(key.publicKeyBase64)] },
  '_dmarc.example.com': { TXT: ['v=DMARC1; p=reject'] },
})
t.teardown(() => dns.close())

function authenticator() {
  return testAuthenticator(createDns({ servers: [dns.server], timeoutMs: 1000 }))
}

async function check(raw: Buffer, more: Partial<TestMessage> = {}) {
  const { spf, dkim, dmarc, aligned } = await authenticator().authenticate({ raw, ...session, ...more })
  return { spf, dkim, dmarc, aligned }
}

t.test('a message that is what it says', async t => {
  const result = await authenticator().authenticate({ raw: signed, ...session })
  t.strictSame(result, {
    judged: { address: 'ann@example.com', name: 'Ann' },
    spf: 'pass',
    dmarc: 'pass',
    policy: 'reject',
    arc: 'none',
    isDenied: false,
    isReplyToDoubtful: false,
    isExcused: false,
    isUnknown: false,
    signatures: [{ domain: 'example.com', selector: 's1', result: 'pass', isAligned: true }],
    spfDomain: 'bounce.example.com',
    dkim: 'pass',
    aligned: true,
    header:
      'mx.example.org;\r\n\tdkim=pass header.d=example.com header.s=s1;\r\n\tspf=pass smtp.mailfrom=bounce.example.com;\r\n\tdmarc=pass header.from=example.com;\r\n\tarc=none smtp.remote-ip="192.0.2.1"',
  })
  t.same(
    await check(signed, { stream: Readable.from([signed]) }),
    { spf: 'pass', dkim: 'pass', dmarc: 'pass', aligned: true },
    'a stream',
  )
})

t.test('none fails by what DNS said before', async t => {
  const record = (made: { publicKeyBase64: string }) => [dkimRecord(made.publicKeyBase64)]
  t.teardown(() => dns.set(keyName, 'TXT', record(key)))
  const other = await generateDkimKey()
  let nowMs = 0
  const clock: Clock = { now: () => new Date(), monotonicMs: () => nowMs }
  const { authenticate } = testAuthenticator(createDns({ servers: [dns.server], timeoutMs: 1000 }), [], clock)
  const asked = () => dns.queries.filter(({ name }) => name === keyName).length
  const elsewhere = { ...session, mailFrom: 'ann@other.example' }
  t.match(await authenticate({ raw: signed, ...elsewhere }), { dkim: 'pass', dmarc: 'pass' })

  dns.set(keyName, 'TXT', record(other))
  const before = asked()
  t.match(await authenticate({ raw: signed, ...elsewhere }), { dkim: 'pass' }, 'that it passes is remembered')
  t.equal(asked(), before)
  const exchanged = await signDkim(plain, { ...signer, privateKeyPem: other.privateKeyPem })
  t.match(await authenticate({ raw: exchanged, ...elsewhere }), { dkim: 'pass', dmarc: 'pass' })
  t.equal(asked(), before + 1)

  t.match(await authenticate({ raw: signed, ...elsewhere }), { dkim: 'fail', dmarc: 'fail' })
  t.match(await authenticate({ raw: signed, ...elsewhere }), { dkim: 'fail', dmarc: 'fail' })
  t.equal(asked(), before + 1, 'who fails again is not asked for again at once')

  const denied = 'From: ann@denied.example\r\n\r\nHello\r\n'
  dns.set('denied.example', 'TXT', ['v=spf1 -all'])
  const own = { raw: Buffer.from(denied), ...session, mailFrom: 'ann@denied.example' }
  t.match(await authenticate(own), { spf: 'fail', isDenied: true })
  dns.set('denied.example', 'TXT', ['v=spf1 ip4:192.0.2.1 -all'])
  t.match(await authenticate(own), { isDenied: true }, 'it was asked for just now')
  nowMs += dnsFreshMs
  t.match(await authenticate(own), { spf: 'pass', isDenied: false })

  // Without a policy nothing fails, and allow rules ask for the proof.
  const silent = Buffer.from('From: ann@silent.example\r\n\r\nHello\r\n')
  const byKey = (made: { privateKeyPem: string }) =>
    signDkim(silent, { ...signer, domain: 'silent.example', privateKeyPem: made.privateKeyPem })
  dns.set('s1._domainkey.silent.example', 'TXT', record(key))
  t.match(await authenticate({ raw: await byKey(key), ...elsewhere }), { dmarc: 'none', aligned: true })
  dns.set('s1._domainkey.silent.example', 'TXT', record(other))
  t.match(await authenticate({ raw: await byKey(other), ...elsewhere }), { dkim: 'pass', aligned: true })
  const plainly = { raw: silent, ...session, mailFrom: 'ann@silent.example' }
  t.match(await authenticate(plainly), { spf: 'none', aligned: false })
  nowMs += dnsFreshMs
  dns.set('silent.example', 'TXT', ['v=spf1 ip4:192.0.2.1 -all'])
  t.match(await authenticate(plainly), { spf: 'pass', aligned: true })
})

t.test('an answer that is too long is an error for good, wherever it is met', async t => {
  const long = 'x'.repeat(60_000)
  dns.set('long.example', 'TXT', [`v=spf1 ip4:192.0.2.1 -all ${long}`])
  dns.set('within.example', 'TXT', ['v=spf1 include:long.example ip4:192.0.2.1 -all'])
  for (const mailFrom of ['ann@long.example', 'ann@within.example']) {
    t.equal((await check(signed, { mailFrom })).spf, 'permerror', mailFrom)
  }
  const record = dkimRecord(key.publicKeyBase64)
  t.teardown(() => dns.set(keyName, 'TXT', [record]))
  for (const more of [long, 'x'.repeat(dkimRecordLength)]) {
    dns.set(keyName, 'TXT', [`${record}; n=${more}`])
    t.match(await check(signed, { mailFrom: 'ann@other.example' }), { dkim: 'permerror', dmarc: 'fail' })
  }
  dns.set('_dmarc.long.example', 'TXT', [`v=DMARC1; p=reject; x=${long}`])
  const raw = Buffer.from('From: ann@long.example\r\n\r\nhi\r\n')
  const found = await authenticator().authenticate({ raw, ...session })
  t.match(found, { dmarc: 'permerror', policy: undefined, aligned: false, isUnknown: false })
})

t.test('a DMARC record with a tag that stands twice is none', async t => {
  const found = async (record: string) => {
    dns.set('_dmarc.tags.example', 'TXT', [record])
    const raw = Buffer.from('From: ann@tags.example\r\n\r\nhi\r\n')
    return authenticator().authenticate({ raw, ...session })
  }
  t.match(await found('v=DMARC1; p=reject; sp=none'), { dmarc: 'fail', policy: 'reject' })
  for (const record of [
    'v=DMARC1; p=none; p=reject',
    'v=DMARC1; p=reject; p=reject',
    'v=DMARC1; p=reject; rua=mailto:a@tags.example; rua=mailto:b@tags.example',
    'v=DMARC1; p=reject; later=1; later=2',
    // Names of tags are case-sensitive.
    'v=DMARC1; P=reject',
  ])
    t.match(await found(record), { dmarc: 'none', policy: undefined }, record)
})

t.test('who is denied by the SPF of the domain in From', async t => {
  const letter = (domain: string) => Buffer.from(`From: ann@${domain}\r\n\r\nhi\r\n`)
  const isDenied = async (raw: Buffer, mailFrom: string, remoteAddress = '192.0.2.7') =>
    (await authenticator().authenticate({ raw, ...session, mailFrom, remoteAddress })).isDenied
  t.ok(await isDenied(letter('other.example'), 'ann@other.example'))
  t.notOk(await isDenied(letter('other.example'), 'ann@other.example', '192.0.2.1'), 'its own server')
  t.notOk(await isDenied(letter('other.example'), 'x@bounce.example.com'), 'it is another that denies')
  t.notOk(await isDenied(letter('nothing.example'), 'ann@nothing.example'), 'without a record')
  t.notOk(await isDenied(letter('example.com'), 'x@bounce.example.com'), 'its DMARC decides')
})

t.test('Reply-To that somebody added to a signed message is doubtful', async t => {
  const asks = 'Reply-To: x@other.example\r\n'
  const signs = async (raw: Buffer, headerList: string) => {
    const signing = { signingDomain: 'example.com', selector: 's1', privateKey: key.privateKeyPem }
    const { signatures, errors } = await dkimSign(raw, {
      canonicalization: 'relaxed/relaxed',
      ...signing,
      signatureData: [{ ...signing, headerList }],
    })
    t.strictSame(errors, [])
    return Buffer.concat([Buffer.from(signatures), raw])
  }
  const withReply = Buffer.from(asks + plain)
  const look = async (raw: Buffer, more: Partial<TestMessage> = {}) => {
    const { dmarc, isReplyToDoubtful } = await authenticator().authenticate({ raw, ...session, ...more })
    return `${dmarc} ${isReplyToDoubtful}`
  }
  const other = { mailFrom: 'x@other.example' }
  const few = await signs(plain, 'from:subject')
  t.equal(await look(Buffer.concat([Buffer.from(asks), few]), other), 'pass true', 'added')
  t.equal(await look(Buffer.concat([Buffer.from(asks), few])), 'pass false', 'from its own server')
  t.equal(await look(await signs(withReply, 'from:reply-to'), other), 'pass false', 'signed')
  const twice = Buffer.concat([
    Buffer.from('Reply-To: a@evil.example\r\n'),
    await signs(withReply, 'from:reply-to'),
  ])
  t.equal(await look(twice, other), 'pass false', 'the signed one is the last, and is read')
  t.match(
    await look(Buffer.concat([Buffer.from(asks), signed]), other),
    /^fail/,
    'that there is none was signed',
  )
  const foreign = Buffer.concat([Buffer.from(asks), plain])
  t.match(await look(foreign, other), /^fail false/, 'nothing proves it')
})

t.test('each alone is enough, none is not', async t => {
  const other = { mailFrom: 'x@other.example' }
  t.same(await check(signed, other), { spf: 'pass', dkim: 'pass', dmarc: 'pass', aligned: true }, 'DKIM')
  t.same(await check(plain), { spf: 'pass', dkim: 'none', dmarc: 'pass', aligned: true }, 'SPF')
  t.same(
    await check(plain, other),
    { spf: 'pass', dkim: 'none', dmarc: 'fail', aligned: false },
    'another domain',
  )
  t.same(
    await check(plain, { remoteAddress: '198.51.100.1' }),
    { spf: 'fail', dkim: 'none', dmarc: 'fail', aligned: false },
    'another address',
  )
  t.same(
    await check(plain, { mailFrom: '' }),
    { spf: 'pass', dkim: 'none', dmarc: 'pass', aligned: true },
    'HELO',
  )
})

t.test('a message that was changed', async t => {
  const other = { mailFrom: 'x@other.example' }
  const fail = { spf: 'pass', dkim: 'fail', dmarc: 'fail', aligned: false }
  t.same(await check(Buffer.concat([signed, Buffer.from('more\r\n')]), other), fail, 'body')
  t.same(await check(Buffer.from(signed.toString().replace('Hello\r\n', 'Hullo\r\n')), other), fail, 'header')
  const second = Buffer.concat([Buffer.from('From: eve@other.example\r\n'), signed])
  t.match(await check(second), { dkim: 'fail', dmarc: 'permerror', aligned: false }, 'a second From')
})

t.test('a signature of the beginning of the body', async t => {
  const signature = {
    signingDomain: 'example.com',
    selector: 's1',
    privateKey: key.privateKeyPem,
    maxBodyLength: body.length,
  }
  const { signatures } = await dkimSign(plain, { ...signature, signatureData: [signature] })
  const partial = Buffer.concat([Buffer.from(signatures), plain])
  const other = { mailFrom: 'x@other.example' }
  t.match(await check(partial, other), { dkim: 'pass', dmarc: 'pass' }, 'that is all of it')
  const longer = Buffer.concat([partial, Buffer.from('and send me money\r\n')])
  t.match(await check(longer, other), { dkim: 'policy', dmarc: 'fail', aligned: false }, 'that is not')
})

t.test('without a policy', async t => {
  dns.set('_dmarc.example.com', 'TXT', [])
  t.teardown(() => dns.set('_dmarc.example.com', 'TXT', ['v=DMARC1; p=reject']))
  t.same(await check(signed), { spf: 'pass', dkim: 'pass', dmarc: 'none', aligned: true })
  t.match(await check(plain), { dmarc: 'none', aligned: true }, 'by SPF of a name below')
  t.match(await check(plain, { mailFrom: 'x@other.example' }), { dmarc: 'none', aligned: false })
})

t.test('a strict DMARC record takes SPF and DKIM of the very same domain alone', async t => {
  t.teardown(() => dns.set('_dmarc.example.com', 'TXT', ['v=DMARC1; p=reject']))
  const below = await signDkim(plain, { ...signer, domain: 'mail.example.com' })
  dns.set('s1._domainkey.mail.example.com', 'TXT', [dkimRecord(key.publicKeyBase64)])
  const elsewhere = { mailFrom: 'x@other.example' }
  const judge = async (record: string, raw: Buffer, more: Partial<TestMessage> = {}) => {
    dns.set('_dmarc.example.com', 'TXT', [record])
    const { dmarc, aligned, signatures } = await authenticator().authenticate({ raw, ...session, ...more })
    return [dmarc, aligned, ...signatures.map(each => each.isAligned)]
  }
  t.same(await judge('v=DMARC1; p=reject', plain), ['pass', true], 'SPF of a name below')
  t.same(await judge('v=DMARC1; p=reject; aspf=s', plain), ['fail', false])
  t.same(await judge('v=DMARC1; p=reject', below, elsewhere), ['pass', true, true], 'DKIM of a name below')
  t.same(await judge('v=DMARC1; p=reject; adkim=s', below, elsewhere), ['fail', false, false])
  t.same(await judge('v=DMARC1; p=reject; aspf=s', below), ['pass', true, true], 'each by its own tag')
  const changed = Buffer.from(below.toString().replace('Hello Bob', 'Hello Eve'))
  t.same(await judge('v=DMARC1; p=reject; adkim=s', changed), ['pass', true, false], 'one that fails as well')
})

t.test('doubt is no failure', async t => {
  const other = { mailFrom: 'x@other.example' }
  dns.fail(keyName, 'SERVFAIL')
  t.same(
    await check(signed, other),
    { spf: 'pass', dkim: 'temperror', dmarc: 'temperror', aligned: false },
    'key',
  )
  dns.clear(keyName)
  dns.fail('bounce.example.com', 'SERVFAIL')
  t.match(await check(plain), { spf: 'temperror', dmarc: 'temperror', aligned: false }, 'SPF')
  dns.clear('bounce.example.com')
  dns.fail('_dmarc.example.com', 'SERVFAIL')
  t.match(await check(signed), { spf: 'pass', dkim: 'pass', dmarc: 'temperror', aligned: false }, 'policy')
  dns.clear('_dmarc.example.com')
  const failing = Readable.from(
    (async function* () {
      yield signed.subarray(0, 100)
      throw new Error('disk fault')
    })(),
    { objectMode: false },
  )
  await t.rejects(check(signed, { stream: failing }), /disk fault/, 'what cannot be read is a fault of ours')
})

t.test('resolvers that say nothing, or nonsense', async t => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const silent = { ...zoneDns({}), resolve: () => new Promise<never>(() => {}) }
  let result: unknown
  const done = testAuthenticator(silent)
    .authenticate({ raw: signed, ...session })
    .then(authenticated => {
      result = authenticated
    })
  for (let second = 0; second < 60 && result === undefined; second++) {
    for (let turn = 0; turn < 20; turn++) await setImmediate()
    mock.timers.tick(1000)
  }
  mock.timers.reset()
  await done
  t.match(result, { spf: 'temperror', dkim: 'temperror', dmarc: 'temperror', aligned: false })

  for (const records of [[], [null], [{}], [['']], [[['x']]], ['v=spf1']]) {
    const odd = { ...zoneDns({}), resolve: async () => records }
    const { authenticate } = testAuthenticator(odd)
    t.not((await authenticate({ raw: signed, ...session })).dmarc, 'pass', JSON.stringify(records))
  }
})

t.test('a stranger whose DNS is slow does not use up the time of the From domain', async t => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const never = new Promise<never>(() => {})
  const records: Record<string, string> = {
    'evil.example': `v=spf1 ${Array.from({ length: 9 }, (_, i) => `include:slow${i}.evil.example`).join(' ')} -all`,
    '_dmarc.example.com': 'v=DMARC1; p=reject',
  }
  const slow = {
    ...zoneDns({}),
    resolve: async (name: string) => {
      if (records[name]) return [[records[name]]]
      if (name.endsWith('evil.example')) return never
      throw Object.assign(new Error('none'), { code: 'ENOTFOUND' })
    },
  }
  const field = (i: number) =>
    `DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=evil.example; s=s${i}; h=from; bh=${hash}; b=AAAA\r\n`
  const hash = createHash('sha256').update(body).digest('base64')
  const raw = Buffer.concat([Buffer.from(Array.from({ length: 10 }, (_, i) => field(i)).join('')), plain])
  let result: unknown
  const done = testAuthenticator(slow)
    .authenticate({ raw, ...session, mailFrom: 'x@evil.example' })
    .then(authenticated => {
      result = authenticated
    })
  for (let second = 0; second < 60 && result === undefined; second++) {
    for (let turn = 0; turn < 20; turn++) await setImmediate()
    mock.timers.tick(1000)
  }
  mock.timers.reset()
  await done
  t.match(result, { spf: 'temperror', dkim: 'temperror', dmarc: 'fail', policy: 'reject', isUnknown: false })
})

t.test('strange sessions and messages', async t => {
  for (const more of [
    { helo: '[192.0.2.1]', mailFrom: '' },
    { helo: '', mailFrom: '' },
    { helo: '\0\r\nX: y', mailFrom: '@@' },
    { mailFrom: '"a@b"@example.com' },
    { remoteAddress: 'nonsense' },
    { remoteAddress: '::ffff:192.0.2.1' },
  ]) {
    const { header } = await authenticator().authenticate({ raw: plain, ...session, ...more })
    t.notMatch(header, /\r\n[^\t]/, JSON.stringify(more))
  }
  t.match(await check(plain, { remoteAddress: '::ffff:192.0.2.1' }), { spf: 'pass' }, 'IPv4 over IPv6')
  for (const raw of ['', '\r\n', 'x', 'From: nobody\r\n\r\n', 'To: x@y\r\n\r\nx']) {
    t.match(
      await check(Buffer.from(raw)),
      { dkim: 'none', dmarc: 'permerror', aligned: false },
      JSON.stringify(raw),
    )
  }
})

t.test('a flood of signatures', async t => {
  const field = (i: number) =>
    `DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=d${i}.example; s=s; h=from; l=${i}; bh=AAAA; b=AAAA\r\n`
  const flood = Array.from({ length: 400 }, (_, i) => field(i)).join('')
  const raw = Buffer.concat([Buffer.from(flood), plain.subarray(0, -2), Buffer.alloc(5_000_000, 'x\r\n')])
  const { signatures } = await authenticator().authenticate({ raw, ...session })
  t.equal(signatures.length, dkimSignatures)
  const fromStream = await authenticator().authenticate({
    raw,
    stream: Readable.from([raw.subarray(0, 70_000), raw.subarray(70_000)]),
    ...session,
  })
  t.same(fromStream.signatures, signatures)
  const mixed = Buffer.concat([Buffer.from(field(1).repeat(9)), signed, Buffer.alloc(0)])
  t.match(await check(mixed), { dkim: 'pass', dmarc: 'pass' }, 'a good one among the first is found')
})

t.test('all messages share what DNS said', async t => {
  const shared = authenticator()
  await shared.authenticate({ raw: signed, ...session })
  const asked = dns.queries.length
  await Promise.all(Array.from({ length: 20 }, () => shared.authenticate({ raw: signed, ...session })))
  t.equal(dns.queries.length, asked)
})

t.test('the SPF suite of RFC 7208', async t => {
  const suites = JSON.parse(readFileSync(new URL('spf/rfc7208-tests.json', committed), 'utf8')) as SpfSuite[]
  let cases = 0
  for (const { description, tests, zonedata } of suites) {
    for (const [name, { host, helo, mailfrom, result }] of Object.entries(tests)) {
      const { authenticate } = testAuthenticator(zoneDns(zonedata))
      const { spf } = await authenticate({ raw: plain, remoteAddress: host, helo, mailFrom: mailfrom })
      t.ok([result].flat().includes(spf), `${description}: ${name}: ${spf}`)
      cases++
    }
  }
  t.equal(cases, 203)
})

t.test('signatures of others', async t => {
  const folder = existsSync(shared) ? shared : new URL('dkim/mimekit/', committed)
  const file = (name: string) => readFileSync(new URL(name, folder))
  const gmailKey = file('gmail.pub')
    .toString()
    .replace(/-----[^\n]*|\s/g, '')
  const { authenticate } = testAuthenticator(
    zoneDns({
      '20120113._domainkey.gmail.com': [{ TXT: `k=rsa; p=${gmailKey}` }],
      // RFC 8463 appendix A.2
      'brisbane._domainkey.football.example.com': [
        { TXT: 'v=DKIM1; k=ed25519; p=11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=' },
      ],
      'test._domainkey.football.example.com': [
        {
          TXT: 'v=DKIM1; k=rsa; p=MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDkHlOQoBTzWRiGs5V6NpP3idY6Wk08a5qhdR6wy5bdOKb2jLQiY/J16JYi0Qvx/byYzCNb3W91y3FutACDfzwQ/BC/e/8uBsCR+yz1Lxj+PL6lHvqMKrM3rG4hstT5QjvHO9PzoxZyVYLzBfO2EeC3Ip3G+2kryOTIKT+l/K4w3QIDAQAB',
        },
      ],
    }),
  )
  const names = ['gmail.msg', 'multipart-no-end-boundary.msg', 'rfc8463-example.msg']
  for (const name of existsSync(shared) ? [...names, 'related.msg'] : names) {
    const raw = Buffer.from(file(name).toString('latin1').replace(/\r?\n/g, '\r\n'), 'latin1')
    const { signatures } = await authenticate({ raw, ...session })
    t.ok(signatures.length > 0 && signatures.every(({ result }) => result === 'pass'), name)
    const changed = Buffer.from(raw.toString('latin1').replace('\r\n\r\n', '\r\n\r\nx'), 'latin1')
    const after = await authenticate({ raw: changed, ...session })
    t.ok(
      after.signatures.every(({ result }) => result === 'fail'),
      `${name}, changed`,
    )
  }
})

interface SpfSuite {
  readonly description: string
  readonly tests: Record<string, { host: string; helo: string; mailfrom: string; result: string | string[] }>
  readonly zonedata: Parameters<typeof zoneDns>[0]
}
