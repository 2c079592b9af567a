import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Worker } from 'node:worker_threads'
import t, { type Test } from 'tap'
import { createCertificateSet } from '../../lib/tls/certificate-set.ts'
import { writeCertificate } from '../support/certificate.ts'
import { greetedDialog, openDialog } from '../support/smtp-dialog.ts'
import { openDoor, type TestDoorSettings } from '../support/smtp-door.ts'
import { temporaryDir } from '../support/temporary-dir.ts'
import { until } from '../support/until.ts'

/** A door whose sessions are in two threads, and those threads. */
async function setUp(t: Test, settings: TestDoorSettings = {}) {
  const workers: Worker[] = []
  const noteWorker = (worker: Worker) => {
    if (worker.threadName === 'smtp') workers.push(worker)
  }
  process.on('worker', noteWorker)
  t.teardown(() => process.off('worker', noteWorker))
  const toml = `${settings.toml ?? ''}\n[log]\nlevel = "fatal"\n`
  const door = await openDoor(t, { threads: 2, ...settings, toml })
  // The first connection has them start, and is held by the main thread.
  const first = await greetedDialog(door.port)
  const isReady = () => door.log.filter(({ msg }) => msg === 'a thread of SMTP sessions is ready').length
  await until('both threads ready', () => isReady() === 2, 60_000)
  await first.say('QUIT')
  await first.closed()
  await until('its place free', () => door.log.some(({ msg }) => msg === 'session ended'))
  return { ...door, workers }
}

const large = `Subject: large\r\n\r\n${`${'x'.repeat(998)}\r\n`.repeat(400)}`

t.test('sessions are spread over threads, and what they bring is stored once', async t => {
  const { port, inbox, messages, raw, workers } = await setUp(t)
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
  const { port } = await setUp(t, {
    smtp: 'max_connections_per_address = 3\nmessages_per_minute_per_address = 2\n',
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

t.test('STARTTLS shows what was read last', async t => {
  const { door, port } = await setUp(t)
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

t.test('a thread that dies is replaced; the peers of the others notice nothing', async t => {
  const { port, inbox, messages, workers, log } = await setUp(t, {
    smtp: 'max_connections_per_address = 4',
  })
  await inbox('ann')
  const dialogs = [await greetedDialog(port), await greetedDialog(port)]
  for (const dialog of dialogs) await dialog.envelope('bob@example.net', 'ann@ours.example')
  // In the middle of a message.
  for (const dialog of dialogs) dialog.write('Subject: x\r\n\r\nhel')
  await workers[0]!.terminate()
  const ends = dialogs.map(dialog => dialog.closed().then(() => dialog))
  const cutOff = await Promise.race(ends)
  const other = dialogs.find(dialog => dialog !== cutOff)!
  other.write('lo\r\n.\r\n')
  t.equal((await other.reply()).code, 250, 'the other message is taken')
  await until('another thread', () => workers.length === 3)
  t.match(log.find(({ level }) => level === 'error')?.msg, /thread of SMTP sessions ended/)
  const again = [await greetedDialog(port), await greetedDialog(port), await greetedDialog(port)]
  for (const dialog of again) {
    await dialog.envelope('bob@example.net', 'ann@ours.example')
    t.equal((await dialog.data('Subject: again\r\n\r\nhello')).code, 250)
  }
  t.equal((await messages()).length, 4, 'what was cut off was never promised')
  t.match(
    (await (await openDialog(port)).reply()).text,
    /^421 /,
    'the place of the dead one was given back, and no other',
  )
})

t.test('connections that come while a thread dies are greeted', async t => {
  const { port, workers } = await setUp(t)
  const opened = []
  for (let count = 0; count < 40; count++) {
    if (count === 20) void workers[0]!.terminate()
    opened.push(await openDialog(port))
  }
  const replies = await Promise.allSettled(opened.map(dialog => dialog.reply()))
  const lost = replies.filter(({ status }) => status === 'rejected').length
  // Those that the dead one had been given; what was still to be accepted is greeted by others.
  t.ok(lost <= 21, `${lost} of 40 were lost`)
  t.equal((await (await openDialog(port)).reply()).code, 220)
})

t.test('to stop sends idle sessions away from all threads and ends messages under way', async t => {
  const { door, port, inbox, messages } = await setUp(t)
  await inbox('ann')
  const dialogs = await Promise.all([greetedDialog(port), greetedDialog(port), greetedDialog(port)])
  const [inData, ...idle] = dialogs
  await inData!.envelope('bob@example.net', 'ann@ours.example')
  inData!.write('Subject: x\r\n\r\nhel')
  const stopping = door.stop()
  for (const dialog of idle) t.match((await dialog.reply()).text, /^421 4\.3\.2 /)
  inData!.write('lo\r\n.\r\n')
  t.equal((await inData!.reply()).code, 250)
  t.match((await inData!.reply()).text, /^421 4\.3\.2 /)
  for (const dialog of dialogs) dialog.vanish()
  await stopping
  t.equal((await messages()).length, 1)
})
