import { X509Certificate } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, renameSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { builtProgram } from '../support/built.ts'
import { callCtl } from '../support/called-ctl.ts'
import { writeCertificate, writeCertificateFor } from '../support/certificate.ts'
import { startDaemon } from '../support/daemon.ts'
import { writeExpiredCertificate } from '../support/expired-certificate.ts'
import { createInbox } from '../support/mailbox.ts'
import { runProgram } from '../support/program.ts'
import { isOnServers } from '../support/server-stories.ts'
import { greetedDialog } from '../support/smtp-dialog.ts'
import { temporaryDir } from '../support/temporary-dir.ts'
import { until } from '../support/until.ts'

const run = (...args: string[]) => runProgram(process.execPath, [builtProgram('mailboxd'), ...args])

t.test('a second daemon on the same data refuses in a sentence', async t => {
  const daemon = await startDaemon(t)
  const second = await run('--config', daemon.configPath)
  t.equal(second.code, 1)
  t.match(
    second.stderr,
    /^mailboxd can not start: another mailboxd runs on this data directory \(it holds .+\): it is process \d+, with its API at 127\.0\.0\.1:\d+\. Use that one, end it, or start this one on other data\n$/,
  )
  t.match(second.stderr, `process ${daemon.process.pid}, with its API at ${new URL(daemon.baseUrl).host}.`)
  t.equal(second.stdout, '')
  t.equal(
    (await (await greetedDialog(daemon.smtpPort)).say('NOOP')).code,
    250,
    'the first one is not disturbed',
  )
  t.equal(await daemon.end('SIGKILL'), 'SIGKILL')
  await daemon.restart()
})

// The other daemon would be another node of its database, without its key.
t.test('a port that is taken is said in a sentence', { skip: isOnServers }, async t => {
  const daemon = await startDaemon(t)
  const dir = temporaryDir(t)
  const config = readFileSync(daemon.configPath, 'utf8')
    .replace(daemon.dataDir, join(dir, 'data'))
    .replace('[smtp]\nlisten = ["127.0.0.1:0"]', `[smtp]\nlisten = ["127.0.0.1:${daemon.smtpPort}"]`)
  writeFileSync(join(dir, 'mailboxd.toml'), config)
  const second = await run('--config', join(dir, 'mailboxd.toml'))
  t.equal(second.code, 1)
  t.match(
    second.stderr,
    new RegExp(
      `^mailboxd can not start: 127\\.0\\.0\\.1:${daemon.smtpPort} is taken by mailboxd\\.js \\(process ${daemon.process.pid}\\); smtp\\.listen names it \\(EADDRINUSE\\): end that program, or give mailboxd another port\n$`,
      'm',
    ),
  )
  t.notMatch(second.stderr, /\n\s+at /, 'without a stack')
  const local = await run('--data', join(dir, 'local'), '--smtp-port', String(daemon.smtpPort))
  t.equal(local.code, 1)
  t.match(local.stderr, /; --smtp-port names it \(EADDRINUSE\): /, 'in local mode an option chose it')
  const elsewhere = config.replace(`["127.0.0.1:${daemon.smtpPort}"]`, '["192.0.2.1:2525"]')
  writeFileSync(join(dir, 'mailboxd.toml'), elsewhere)
  const third = await run('--config', join(dir, 'mailboxd.toml'))
  t.match(
    third.stderr,
    /start: address not available 192\.0\.2\.1:2525; smtp\.listen names it \(EADDRNOTAVAIL\): this machine does not/,
  )
  t.equal(await daemon.end('SIGINT'), 0, 'SIGINT ends as SIGTERM does')
})

t.test('what the system refuses is told with what to do, without a stack', async t => {
  const dir = temporaryDir(t)
  writeFileSync(join(dir, 'file'), '')
  const broken = join(dir, 'broken')
  mkdirSync(broken)
  writeFileSync(
    join(broken, 'mailboxd.sqlite'),
    'this is no database, however long it is looked at\n'.repeat(100),
  )
  for (const [data, exitCode, said] of [
    [join(dir, 'file', 'data'), 1, /\(ENOTDIR\): a part of that path is a file\n$/],
    [
      broken,
      78,
      /the database is damaged: stop mailboxd, keep a copy of the file, and restore the last backup .*\n$/,
    ],
  ] as const) {
    const { code, stderr } = await run('--data', data)
    t.equal(code, exitCode)
    t.match(stderr, said)
    t.match(stderr, /^mailboxd can not start: .*\n$/)
  }
  const ctl = (...args: string[]) =>
    runProgram(process.execPath, [builtProgram('mailboxctl'), '--data', broken, ...args])
  t.match(await ctl('inbox', 'list'), {
    code: 70,
    stderr: /^file is not a database \(SQLITE_NOTADB\): the database is damaged: .*\n$/,
  })
  t.match(await ctl('backup', join(dir, 'nowhere', 'x.tar.zst')), {
    code: 1,
    stderr: /nowhere.*\(ENOENT\): it is not there: look at how it is written, and make its folder\n$/,
  })
})

t.test(
  'a folder of large messages that is not mounted is told, and nothing in it is taken for gone',
  { skip: isOnServers },
  async t => {
    const daemon = await startDaemon(t)
    const ann = await createInbox(daemon, 'ann')
    const dialog = await greetedDialog(daemon.smtpPort)
    await dialog.envelope('bob@example.net', ann.address)
    await dialog.data(`Subject: large\r\n\r\n${`${'x'.repeat(998)}\r\n`.repeat(400)}`)
    dialog.end()
    const [message] = await ann.received()
    const rawOf = async () => (await ann.api.get(`/v1/messages/${message!.id}/raw`)).status
    t.equal(await rawOf(), 200)
    const [raw, elsewhere] = [join(daemon.dataDir, 'raw'), join(daemon.dataDir, '..', 'unmounted')]
    const unmount = () => {
      renameSync(raw, elsewhere)
      mkdirSync(raw)
    }
    const mount = () => {
      rmdirSync(raw)
      renameSync(elsewhere, raw)
    }
    unmount()
    t.equal(await rawOf(), 503, 'it is not there now, which is not to be gone')
    mount()
    t.equal(await rawOf(), 200)
    await daemon.end('SIGTERM')
    unmount()
    const again = await run('--config', daemon.configPath)
    t.equal(again.code, 1)
    t.match(
      again.stderr,
      /^mailboxd can not start: .*raw is empty, and large messages were kept there: mount .*\n$/,
    )
    const { code, stdout } = await daemon.ctlResult('doctor')
    t.equal(code, 2)
    const { findings } = JSON.parse(stdout) as { findings: { code: string; level: string }[] }
    t.match(
      findings.find(({ code }) => code === 'raws_missing'),
      { level: 'error' },
    )
    rmdirSync(raw)
    renameSync(elsewhere, raw)
    const back = await daemon.restart()
    const { stdout: bytes } = await back.ctlResult('message', 'raw', String(message!.id))
    t.match(bytes, /^Subject: large/m)
  },
)

t.test('mailboxctl makes no installation, and config check says what it checked', async t => {
  const dir = temporaryDir(t)
  const say = (...args: string[]) => callCtl(dir, ...args)
  for (const command of [['status'], ['key', 'create'], ['inbox', 'list']]) {
    const { code, stderr } = await say(...command)
    t.equal(code, 78)
    t.match(stderr, /^local mode: data_dir: there is no installation in .*mailboxd-data: start mailboxd/)
  }
  t.strictSame(readdirSync(dir), [], 'nothing was made')

  const local = await say('config', 'check')
  t.strictSame([local.code, local.stdout], [78, ''])
  t.match(local.stderr, /nothing was checked: mailboxd runs in local mode/)
  const file = join(dir, 'mailboxd.toml')
  writeFileSync(
    file,
    `hostname = "mail.ours.example"\naccount_domain = "ours.example"\ndata_dir = "${dir}/none"\n`,
  )
  const named = await say('config', 'check', file)
  t.equal(named.code, 2)
  t.match(named.stderr, `name the file with --config: mailboxctl config check --config ${file}`)
  const checked = await say('config', 'check', '--config', file)
  t.equal(checked.code, 0, checked.stderr)
  t.match(checked.stdout, /the configuration is right/)
  const none = await say('status', '--config', file)
  t.equal(none.code, 78)
  t.match(none.stderr, /mailboxd\.toml: data_dir: there is no installation in .*none/)
  t.strictSame(readdirSync(dir), ['mailboxd.toml'])
})

t.test('what is wrong with the configuration is said all at once, and the exit code is 78', async t => {
  const dir = temporaryDir(t)
  const config = join(dir, 'mailboxd.toml')
  writeFileSync(
    config,
    'hostname = "not a name"\ndata_dir = "data"\nhostnam = "x"\n[smtp]\nlisten = ["everywhere"]\nmax_size = 1\n',
  )
  for (const finished of await Promise.all([
    run('--config', config),
    runProgram(process.execPath, [builtProgram('mailboxctl'), '--config', config, 'config', 'check']),
  ])) {
    t.equal(finished.code, 78)
    for (const path of ['hostname', 'hostnam', 'account_domain', 'smtp.listen', 'smtp.max_size']) {
      t.match(finished.stderr, path)
    }
    t.equal(finished.stdout, '')
  }
  t.strictSame(readdirSync(dir), ['mailboxd.toml'], 'nothing was made')

  const none = await run('--config', join(dir, 'none.toml'))
  t.equal(none.code, 78)
  t.match(none.stderr, /does not exist/)
  const { cert } = await writeCertificate(dir, 'mail.ours.example')
  writeFileSync(
    config,
    `hostname = "mail.ours.example"\naccount_domain = "ours.example"\ndata_dir = "${dir}/data"
[smtp]\nlisten = ["127.0.0.1:0"]\n[[tls.certificate]]\ncertificate = "${cert}"\nkey = "${dir}/none.pem"\n`,
  )
  const noKey = await run('--config', config)
  t.equal(noKey.code, 78)
  t.match(noKey.stderr, /mailboxd\.toml: tls\.certificate\[0\]\.key: .*none\.pem can not be read/)
  t.equal((await run('--what')).code, 2)
})

t.test('SIGHUP: the new certificate is for new handshakes, a broken one for none', async t => {
  const dir = temporaryDir(t)
  const { cert, key } = await writeCertificate(dir, 'mail.ours.example')
  const fingerprint = () => new X509Certificate(readFileSync(cert)).fingerprint256
  const daemon = await startDaemon(t, {
    toml: `[[tls.certificate]]\ncertificate = "${cert}"\nkey = "${key}"`,
  })
  const ann = await createInbox(daemon, 'ann')
  const reloaded = (msg: string, count: number) =>
    until(msg, () => daemon.log().filter(entry => entry.msg === msg).length >= count)

  const first = fingerprint()
  const before = await greetedDialog(daemon.smtpPort)
  t.equal((await before.startTls()).fingerprint, first)
  await before.say('EHLO client.example')
  await before.envelope('bob@example.net', ann.address)
  before.write('Subject: over the old one\r\n')

  await writeCertificate(dir, 'mail.ours.example')
  t.not(fingerprint(), first)
  daemon.process.kill('SIGHUP')
  await reloaded('TLS certificate read again', 1)
  const after = await greetedDialog(daemon.smtpPort)
  t.equal((await after.startTls()).fingerprint, fingerprint())
  t.match((await before.data('\r\nx')).text, /^250 /, 'the session under way goes on')

  const second = fingerprint()
  writeFileSync(cert, 'no certificate')
  daemon.process.kill('SIGHUP')
  await reloaded('the TLS certificate can not be used; the old one stays', 1)
  const still = await greetedDialog(daemon.smtpPort)
  t.equal((await still.startTls()).fingerprint, second)
  t.equal((await ann.received())[0]!.subject, 'over the old one')
})

t.test('an expired certificate is shown, told in one line, and exchanged for the renewed one', async t => {
  const dir = temporaryDir(t)
  const { cert, key } = await writeExpiredCertificate(dir, 'mail.ours.example')
  const daemon = await startDaemon(t, {
    toml: `[[tls.certificate]]\ncertificate = "${cert}"\nkey = "${key}"`,
  })
  const shown = async () => (await (await greetedDialog(daemon.smtpPort)).startTls()).fingerprint
  const fingerprint = () => new X509Certificate(readFileSync(cert)).fingerprint256
  t.equal(await shown(), fingerprint())
  const told = daemon.log().filter(({ msg }) => /expired at/.test(String(msg)))
  t.match(told, [{ level: 'error', msg: /expired-cert\.pem expired at .*: renew it/ }])
  t.equal(told.length, 1)
  t.match(await daemon.ctl('config', 'check'), {
    ok: true,
    warnings: [{ path: 'tls.certificate[0].certificate', message: /expired at/ }],
  })
  const renewed = await writeCertificate(dir, 'mail.ours.example')
  renameSync(renewed.key, key)
  renameSync(renewed.cert, cert)
  daemon.process.kill('SIGHUP')
  await until('it is read', () => daemon.log().some(({ msg }) => msg === 'TLS certificate read again'))
  t.equal(await shown(), fingerprint())
})

t.test('STARTTLS shows each name its certificate, and config check tells of doubts and faults', async t => {
  const dir = temporaryDir(t)
  const own = await writeCertificateFor(dir, ['mail.ours.example'], { stem: 'own' })
  const other = await writeCertificateFor(dir, ['*.theirs.example'], { stem: 'other', days: 5 })
  const table = ({ cert, key }: { cert: string; key: string }) =>
    `[[tls.certificate]]\ncertificate = "${cert}"\nkey = "${key}"\n`
  const daemon = await startDaemon(t, { toml: table(own) + table(other) })
  const shown = async (...name: string[]) => {
    const to = ['-connect', `127.0.0.1:${daemon.smtpPort}`, '-starttls', 'smtp', ...name]
    const { stdout } = await runProgram('openssl', ['s_client', ...to], 'QUIT\r\n')
    return /^subject=(.*)$/m.exec(stdout)?.[1]?.replaceAll(' ', '')
  }
  t.equal(await shown('-servername', 'mail.ours.example'), 'CN=mail.ours.example')
  t.equal(await shown('-servername', 'mx.theirs.example'), 'CN=*.theirs.example')
  t.equal(await shown('-servername', 'stranger.example'), 'CN=mail.ours.example')
  t.equal(await shown('-noservername'), 'CN=mail.ours.example')

  const right = await daemon.ctl('config', 'check')
  t.match(right, {
    ok: true,
    warnings: [{ path: 'tls.certificate[1].certificate', message: /expires within 14 days/ }],
  })
  const config = readFileSync(daemon.configPath, 'utf8')
  writeFileSync(daemon.configPath, config.replace(own.key, other.key))
  const wrong = await daemon.ctlResult('config', 'check')
  t.equal(wrong.code, 78)
  t.match(JSON.parse(wrong.stderr).faults, [
    { path: 'tls.certificate[0].key', message: /otherkey\.pem is not the private key of .*owncert\.pem/ },
  ])
})
