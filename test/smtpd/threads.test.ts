import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import t from 'tap'
import { createCertificateSet } from '../../lib/tls/certificate-set.ts'
import { writeCertificate } from '../support/certificate.ts'
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
