import { X509Certificate } from 'node:crypto'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createCertificateSet } from '../../lib/tls/certificate-set.ts'
import { writeCertificate } from '../support/certificate.ts'
import { runProgram } from '../support/program.ts'
import { greetedDialog } from '../support/smtp-dialog.ts'
import { openDoor } from '../support/smtp-door.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

t.test('after STARTTLS all is forgotten, and what was said in the clear with it', async t => {
  const { port, inbox, messages } = await openDoor(t)
  await inbox('ann')
  const dialog = await greetedDialog(port)
  await dialog.say('MAIL FROM:<eve@example.net>')
  await dialog.say('RCPT TO:<ann@ours.example>')
  await dialog.startTls()
  t.equal((await dialog.say('DATA')).code, 503)
  t.equal((await dialog.say('MAIL FROM:<bob@example.net>')).code, 503, 'EHLO is forgotten')
  const ehlo = await dialog.say('EHLO client.example')
  t.notMatch(ehlo.text, /STARTTLS/)
  t.match(ehlo.text, /PIPELINING.* SIZE 26214400/)
  t.match((await dialog.say('STARTTLS')).text, /^503 5\.5\.1 /, 'not twice')
  dialog.write('MAIL FROM:<eve@example.net>\n')
  t.match((await dialog.reply()).text, /^500 5\.5\.2 /, 'lines are looked at as before')
  await dialog.envelope('bob@example.net', 'ann@ours.example')
  t.equal((await dialog.data('Subject: secret\r\n\r\nx')).code, 250)
  await dialog.say('MAIL FROM:<bob@example.net> SMTPUTF8')
  await dialog.say('RCPT TO:<ann@ours.example>')
  await dialog.say('DATA')
  t.equal((await dialog.data('Subject: Grüße\r\n\r\nx')).code, 250)
  t.equal((await dialog.say('QUIT')).code, 221)
  await dialog.closed()
  const [message, wide] = await messages()
  t.match(wide!.trace, / with UTF8SMTPS id /, 'RFC 6531 §4.3')
  t.equal(message!.mailFrom, 'bob@example.net')
  t.match(message!.trace, /\(TLSv1\.3 TLS_\w+\)\r\n\tby mail\.ours\.example \(mailboxd\) with ESMTPS id /)
})

t.test('commands injected behind STARTTLS are never done', async t => {
  const { port, inbox, messages } = await openDoor(t)
  await inbox('ann')
  const injected =
    'EHLO eve.example\r\nMAIL FROM:<eve@example.net>\r\nRCPT TO:<ann@ours.example>\r\nDATA\r\n' +
    'Subject: injected\r\n\r\nx\r\n.\r\n'
  for (const extra of [injected, 'NOOP\r\n'.repeat(300), 'MAIL FROM:<eve@exa']) {
    const dialog = await greetedDialog(port)
    // The handshake of the client comes after the injected text, so it must be thrown away and not be read as TLS.
    try {
      await dialog.startTls(extra)
      t.equal((await dialog.say('RCPT TO:<ann@ours.example>')).code, 503)
      t.equal((await dialog.say('EHLO client.example')).code, 250)
      t.equal((await dialog.say('NOOP')).code, 250, 'replies and commands are in step')
    } catch (error) {
      // Or the connection is cut off, which is as good.
      t.match(error, /ended|closed|disconnected|over|ECONNRESET|EPIPE|WRONG_VERSION|packet/i)
    }
    dialog.vanish()
  }
  t.strictSame(await messages(), [])
})

t.test('what is no TLS after STARTTLS ends the connection, and no more', async t => {
  const { port, log } = await openDoor(t)
  const dialog = await greetedDialog(port)
  t.equal((await dialog.say('STARTTLS')).code, 220)
  dialog.write('EHLO client.example\r\n'.repeat(5))
  await dialog.closed().catch(() => {})
  t.equal((await (await greetedDialog(port)).say('NOOP')).code, 250)
  t.strictSame(
    log.filter(entry => entry.level === 'error'),
    [],
  )
})

t.test('a new certificate is for new handshakes; sessions under way go on', async t => {
  const { door, port, inbox } = await openDoor(t)
  await inbox('ann')
  const dir = temporaryDir(t)
  const files = []
  for (const name of ['one', 'two']) {
    mkdirSync(join(dir, name))
    const { cert, key } = await writeCertificate(join(dir, name), 'mail.ours.example')
    files.push({ cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') })
  }
  const seen: string[] = []
  const dialogs = []
  for (const file of files) {
    const pair = { ...file, names: [], notBefore: new Date(), notAfter: new Date() }
    door.reload(createCertificateSet([pair]))
    const dialog = await greetedDialog(port)
    seen.push((await dialog.startTls()).fingerprint)
    dialogs.push(dialog)
  }
  t.strictSame(
    seen,
    files.map(file => new X509Certificate(file.cert).fingerprint256),
  )
  for (const dialog of dialogs) t.equal((await dialog.say('EHLO client.example')).code, 250)
})

t.test(
  'TLS 1.0 and 1.1 are refused, whatever name the client asks for, and before and after a reload',
  async t => {
    const files = await writeCertificate(temporaryDir(t), 'mx.ours.example')
    const [key, cert] = [readFileSync(files.key, 'utf8'), readFileSync(files.cert, 'utf8')]
    const { door, port } = await openDoor(t)
    const tries = async (version: string, name: readonly string[]) => {
      const at = ['-connect', `127.0.0.1:${port}`, '-starttls', 'smtp', ...name]
      const { stdout } = await runProgram(
        'openssl',
        ['s_client', ...at, version, '-cipher', 'ALL:@SECLEVEL=0'],
        'QUIT\r\n',
      )
      return /Cipher is (?!\(NONE\))/.test(stdout)
    }
    for (const isReloaded of [false, true]) {
      if (isReloaded) {
        const names = ['mx.ours.example']
        const pair = { key, cert, names, notBefore: new Date('2020-01-01'), notAfter: new Date('2099-01-01') }
        door.reload(createCertificateSet([pair]))
      }
      for (const name of [
        ['-servername', 'mx.ours.example'],
        ['-servername', 'x.example'],
        ['-noservername'],
      ]) {
        t.strictSame(
          [await tries('-tls1', name), await tries('-tls1_1', name), await tries('-tls1_2', name)],
          [false, false, true],
          name.join(' '),
        )
      }
    }
  },
)
