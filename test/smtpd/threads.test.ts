import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import t from 'tap'
import { jsonStyle } from '../../lib/base/log-style.ts'
import { dkimRecord, generateDkimKey, signDkim } from '../../lib/mail/compose/dkim.ts'
import type { DoorCalls, DoorThreadParts } from '../../lib/smtpd/door-thread.ts'
import type { Admitted, Sessions } from '../../lib/smtpd/sessions.ts'
import { createThreads, smtpSuspects, smtpThreadLooks } from '../../lib/smtpd/threads.ts'
import { type CertificateSet, createCertificateSet } from '../../lib/tls/certificate-set.ts'
import { startApi } from '../support/api-app.ts'
import { writeCertificate } from '../support/certificate.ts'
import { startDns } from '../support/dns.ts'
import { greetedDialog, openDialog } from '../support/smtp-dialog.ts'
import { temporaryDir } from '../support/temporary-dir.ts'
import { openThreadedDoor } from '../support/threaded-door.ts'
import { until } from '../support/until.ts'

const large = `Subject: large\r\n\r\n${`${'x'.repeat(998)}\r\n`.repeat(400)}`

t.test('sessions are spread over threads, and what they bring is stored once', async t => {
  const { port, inbox, messages, raw, workers } = await openThreadedDoor(t)
  t.equal(workers.length, 2)
  await inbox('ann')
  const dialogs = await Promise.all([greetedDialog(port), greetedDialog(port), greetedDialog(port)])
  for (const [index, dialog] of dialogs.entries()) {
    await dialog.envelope('bob@example.net', 'ann@ours.example')
    t.match((await dialog.data(`Subject: ${index}\r\n\r\nhello`)).text, /^250 2\.[06]\.0 /)
  }
  t.strictSame(
    (await messages()).map(({ subject, bodyText }) => [subject, bodyText.trim()]),
    ['0', '1', '2'].map(subject => [subject, 'hello']),
  )
  const [dialog] = dialogs
  t.match(await dialog!.say('RCPT TO:<ann@ours.example>'), { code: 503 }, 'as ever')
  await dialog!.envelope('bob@example.net', 'ann@ours.example')
  t.equal((await dialog!.data(large)).code, 250, 'a large one is read elsewhere')
  const stored = (await messages()).at(-1)!
  t.equal((await raw(stored)).toString(), `${large}\r\n`, 'byte for byte')
  await dialog!.say('MAIL FROM:<bob@example.net>')
  t.match((await dialog!.say('RCPT TO:<nobody@ours.example>')).text, /^550 5\.1\.1 /, 'refusals come over')
})

t.test('peers are counted over all threads', async t => {
  const { port } = await openThreadedDoor(t, {
    // Whichever of the two is a bound, and both.
    smtp: 'max_connections_per_address = 3\nmessages_per_minute_per_address = 2\nmessages_per_minute_per_block = 2\n',
  })
  const dialogs = [await greetedDialog(port), await greetedDialog(port), await greetedDialog(port)]
  t.match((await (await openDialog(port)).reply()).text, /^421 4\.7\.0 /)
  const codes = []
  for (const dialog of dialogs) codes.push((await dialog.say('MAIL FROM:<bob@example.net>')).code)
  t.strictSame(codes, [250, 250, 450])
  await dialogs[0]!.say('QUIT')
  await dialogs[0]!.closed()
  await until('its place free', async () => (await (await openDialog(port)).reply()).code === 220)
})

t.test('in each thread strangers who bring nothing give their places up when all are taken', async t => {
  const { port } = await openThreadedDoor(t, { smtp: 'max_connections = 3' })
  const silent = [await greetedDialog(port), await greetedDialog(port), await greetedDialog(port)]
  const next = await until('a place', async () => {
    const dialog = await openDialog(port)
    return (await dialog.reply()).code === 220 && dialog
  })
  for (const dialog of silent) t.match((await dialog.reply()).text, /^421 4\.3\.2 All connections are taken/)
  t.equal((await next.say('NOOP')).code, 250)
})

t.test(
  'in whichever thread he is, who had a message taken gives his place up when all are taken',
  async t => {
    const { port, inbox } = await openThreadedDoor(t, { smtp: 'max_connections = 3' })
    await inbox('ann')
    const all = [await greetedDialog(port), await greetedDialog(port), await greetedDialog(port)]
    const had = [all[0]!, all[2]!]
    for (const dialog of had) {
      await dialog.envelope('bob@example.net', 'ann@ours.example')
      t.equal((await dialog.data('Subject: s\r\n\r\nhello')).code, 250)
    }
    for (const dialog of had) {
      await until('a place', async () => (await (await openDialog(port)).reply()).code === 220)
      t.match((await dialog.reply()).text, /^421 4\.3\.2 All connections are taken/, 'the longest first')
    }
    t.equal((await all[1]!.say('NOOP')).code, 250)
  },
)

t.test('mail is not refused by what the threads or the main thread remember of DNS', async t => {
  const [former, later] = [await generateDkimKey(), await generateDkimKey()]
  const dns = await startDns({
    'theirs.example': { TXT: ['v=spf1 -all'] },
    '_dmarc.theirs.example': { TXT: ['v=DMARC1; p=reject'] },
    's1._domainkey.theirs.example': { TXT: [dkimRecord(former.publicKeyBase64)] },
  })
  t.teardown(() => dns.close())
  const { port, inbox } = await openThreadedDoor(t, { dns: dns.server })
  await inbox('ann')
  const letter = Buffer.from('From: bob@theirs.example\r\nSubject: hello\r\n\r\nHello\r\n')
  const bring = async ({ privateKeyPem }: { privateKeyPem: string }) => {
    const signer = { domain: 'theirs.example', selector: 's1', privateKeyPem, signedAt: new Date() }
    const signed = (await signDkim(letter, signer)).toString()
    const dialogs = [await greetedDialog(port), await greetedDialog(port)]
    const codes = []
    for (const dialog of dialogs) {
      await dialog.envelope('bob@theirs.example', 'ann@ours.example')
      codes.push((await dialog.data(signed.replace(/\r\n$/, ''))).code)
    }
    return codes
  }
  t.strictSame(await bring(former), [250, 250])
  dns.set('s1._domainkey.theirs.example', 'TXT', [dkimRecord(later.publicKeyBase64)])
  t.strictSame(await bring(later), [250, 250], 'the key was exchanged')
  t.strictSame(await bring(former), [550, 550])
})

t.test('STARTTLS shows what was read last', async t => {
  const { door, port } = await openThreadedDoor(t)
  const under = await greetedDialog(port)
  const former = await under.startTls()
  const { cert, key } = await writeCertificate(temporaryDir(t), 'mail.ours.example')
  const texts = { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') }
  door.reload(createCertificateSet([{ ...texts, names: [], notBefore: new Date(), notAfter: new Date() }]))
  for (const dialog of [await greetedDialog(port), await greetedDialog(port)]) {
    const { fingerprint } = await dialog.startTls()
    t.equal(fingerprint, new X509Certificate(texts.cert).fingerprint256, 'in each thread')
    t.not(fingerprint, former.fingerprint)
  }
  t.equal((await under.say('EHLO client.example')).code, 250, 'a session under way goes on')
})

t.test('whose message ended a thread is suspect to those that are there, and to those that come', async t => {
  const { app } = await startApi(t)
  const made: DoorThreadParts[] = []
  const told: [thread: number, party: string][] = []
  const nobody: Sessions = {
    size: 0,
    take() {},
    reload() {},
    findWhoGivesWay: async () => [],
    sendAway() {},
    stop: () => Promise.resolve(),
  }
  const threads = createThreads({
    app,
    count: 2,
    sessionsEach: 0,
    bounds: { idleTimeoutMs: 1, sessionTimeoutMs: 1, dataTimeoutMs: 1, maxMessages: 1 },
    timeoutMs: 1,
    idleMs: 1_000_000,
    logStyle: jsonStyle,
    // No thread is there, and so nobody who greets or calls.
    certificates: {} as CertificateSet,
    calls: {} as DoorCalls,
    own: nobody,
    start(parts) {
      const index = made.push(parts) - 1
      return { ...nobody, suspect: party => void told.push([index, party]) }
    },
    ended() {},
  })
  t.teardown(() => threads.stop())
  threads.take({} as Admitted, {} as Socket)
  t.strictSame(
    made.map(({ suspects }) => suspects),
    [[], []],
  )
  for (const { ready } of made) ready()
  made[0]!.died('192.0.2.1')
  t.strictSame(told, [[1, '192.0.2.1']])
  t.strictSame(made[2]?.suspects, ['192.0.2.1'])
  made[2]!.ready()
  made[2]!.died(undefined)
  t.strictSame(made[3]?.suspects, ['192.0.2.1'], 'nobody was being read')
  for (let n = 1; n < smtpSuspects; n++) {
    made.at(-1)!.ready()
    made.at(-1)!.died(`peer ${n}`)
  }
  t.equal(made.at(-1)!.suspects.length, smtpSuspects)
  t.equal(made.at(-1)!.suspects[0], '192.0.2.1')
  made.at(-1)!.ready()
  made.at(-1)!.died('one more')
  t.equal(made.at(-1)!.suspects.length, smtpSuspects, 'the first one makes room')
  t.strictSame([made.at(-1)!.suspects[0], made.at(-1)!.suspects.at(-1)], ['peer 1', 'one more'])
  const before = made.length
  made.at(-1)!.died('192.0.2.9')
  t.equal(made.length, before, 'one that could not even start has no other take its place at once')
})

t.test(
  'another thread starts when those before have enough sessions, and all end when there was none for long',
  async t => {
    const { app } = await startApi(t)
    let nowMs = 0
    let asked = 0
    const monotonicMs = () => {
      asked++
      return nowMs
    }
    const clock = { now: () => app.clock.now(), monotonicMs }
    const made: { size: number; isStopped: boolean; parts: DoorThreadParts }[] = []
    const own = {
      size: 0,
      take() {},
      reload() {},
      findWhoGivesWay: async () => [],
      sendAway() {},
      stop: () => Promise.resolve(),
    }
    const threads = createThreads({
      app: { ...app, hold: undefined, clock },
      count: 3,
      sessionsEach: 4,
      bounds: { idleTimeoutMs: 1, sessionTimeoutMs: 1, dataTimeoutMs: 1, maxMessages: 1 },
      timeoutMs: 1,
      idleMs: smtpThreadLooks,
      logStyle: jsonStyle,
      certificates: {} as CertificateSet,
      calls: {} as DoorCalls,
      own,
      start(parts) {
        const one = { size: 0, isStopped: false, parts }
        made.push(one)
        return {
          get size() {
            return one.size
          },
          take: () => void one.size++,
          reload() {},
          suspect() {},
          findWhoGivesWay: async () => [],
          sendAway() {},
          async stop() {
            one.isStopped = true
          },
        }
      },
      ended() {},
    })
    t.teardown(() => threads.stop())
    const take = () => threads.take({} as Admitted, {} as Socket)
    take()
    t.equal(made.length, 1)
    own.size = 3
    take()
    t.equal(made.length, 1)
    own.size = 4
    take()
    t.equal(made.length, 2, 'those in the main thread count, too')
    own.size = 0
    for (const { parts } of made) parts.ready()
    for (let n = 0; n < 8; n++) take()
    t.strictSame(
      made.map(({ size }) => size),
      [4, 4],
      'each goes where the fewest are',
    )
    take()
    t.equal(made.length, 3)
    made[2]!.parts.ready()
    for (let n = 0; n < 100; n++) take()
    t.equal(made.length, 3, 'and no more than are allowed')

    // A look begins by asking the time, which two of them have done when one has ended.
    const look = () => {
      const before = asked
      return until('a look', () => asked > before + 1)
    }
    nowMs = 1_000
    await look()
    t.notOk(
      made.some(({ isStopped }) => isStopped),
      'who has sessions stays',
    )
    for (const one of made) one.size = 0
    nowMs += smtpThreadLooks - 1
    await look()
    t.notOk(made.some(({ isStopped }) => isStopped))
    nowMs += 1
    await until('their end', () => made.every(({ isStopped }) => isStopped))
    take()
    t.equal(made.length, 4, 'the next connection has one start')
  },
)
