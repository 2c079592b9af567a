import { once } from 'node:events'
import { chmodSync, chownSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { builtProgram } from '../support/built.ts'
import { writeCertificateFor } from '../support/certificate.ts'
import { startDaemon } from '../support/daemon.ts'
import { runProgram } from '../support/program.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

/** Nobody's on this machine; the data belongs to it, so the daemon runs as it. */
const daemonId = 64_123
const skip = process.getuid?.() === 0 ? false : 'only root can read what another user can not'

t.test('as root, config check tells what the user of the daemon may not read', { skip }, async t => {
  const dir = temporaryDir(t)
  chmodSync(dir, 0o755)
  const dataDir = join(dir, 'data')
  mkdirSync(dataDir)
  chownSync(dataDir, daemonId, daemonId)
  const secret = join(dir, 'secret')
  mkdirSync(secret)
  const own = await writeCertificateFor(dir, ['mail.ours.example'], { stem: 'own' })
  const inner = await writeCertificateFor(secret, ['mail.theirs.example'], { stem: 'inner' })
  for (const { cert } of [own, inner]) chmodSync(cert, 0o644)
  for (const { key } of [own, inner]) chmodSync(key, 0o600)
  const config = join(dir, 'mailboxd.toml')
  const pair = ({ cert, key }: typeof own) => `[[tls.certificate]]\ncertificate = "${cert}"\nkey = "${key}"\n`
  writeFileSync(
    config,
    `hostname = "mail.ours.example"\naccount_domain = "ours.example"\ndata_dir = "${dataDir}"\n${pair(own)}${pair(inner)}`,
  )
  const check = () =>
    runProgram(process.execPath, [
      builtProgram('mailboxctl'),
      '--config',
      config,
      '--json',
      'config',
      'check',
    ])
  const faults = async () => {
    const { code, stderr } = await check()
    t.equal(code, 78)
    return JSON.parse(stderr).faults as { path: string; message: string }[]
  }
  const forbidden = new RegExp(`can not be read by the user .*\\b${daemonId}: EACCES`)

  chmodSync(secret, 0o700)
  t.match(await faults(), [
    { path: 'tls.certificate[0].key', message: forbidden },
    // Of what lies in a directory that it may not enter neither is known.
    { path: 'tls.certificate[1].certificate', message: forbidden },
  ])
  chmodSync(secret, 0o755)
  t.match(await faults(), [
    { path: 'tls.certificate[0].key', message: forbidden },
    { path: 'tls.certificate[1].key', message: forbidden },
  ])
  for (const { key } of [own, inner]) chownSync(key, daemonId, daemonId)
  const right = await check()
  t.equal(right.code, 0, right.stderr)

  chmodSync(config, 0o600)
  const unread = await check()
  t.equal(unread.code, 0, 'it may be one that is tried out')
  t.match(JSON.parse(unread.stdout).warnings, [
    {
      path: '',
      message: new RegExp(`^the daemon can not read this file \\(EACCES\\): .* As root: chgrp ${daemonId} `),
    },
  ])
  // The group of nobody is called otherwise, and what is said is to be pasted.
  for (const path of [dataDir, own.key, inner.key]) chownSync(path, 65_534, 65_534)
  const { message } = JSON.parse((await check()).stdout).warnings[0]
  const mended = await runProgram('sh', ['-c', message.split(' As root: ')[1]])
  t.equal(mended.code, 0, mended.stderr)
  t.match(JSON.parse((await check()).stdout), { warnings: [] })
  for (const path of [dataDir, own.key, inner.key]) chownSync(path, daemonId, daemonId)
  chmodSync(config, 0o644)

  const s3 = join(dir, 's3')
  writeFileSync(s3, 'a secret\n', { mode: 0o600 })
  const withBucket = (path: string) => {
    const text = readFileSync(config, 'utf8').split('blobs =')[0]!
    const top = `blobs = "s3://mail"\n${text}`
    writeFileSync(
      config,
      `${top}[s3]\nregion = "eu"\naccess_key_id = "K"\nsecret_access_key_file = "${path}"\n`,
    )
    return text
  }
  const before = withBucket(s3)
  t.match(await faults(), [{ path: 's3.secret_access_key_file', message: /can not read .*EACCES/ }])
  chownSync(s3, daemonId, daemonId)
  t.equal((await check()).code, 0)
  writeFileSync(s3, '\n')
  t.match(await faults(), [{ path: 's3.secret_access_key_file', message: /is empty/ }])
  writeFileSync(config, before)
  withBucket('/run/credentials/mailboxd.service/s3')
  const credential = await check()
  t.equal(credential.code, 0, 'what only the unit has')
  t.match(JSON.parse(credential.stdout).warnings, [{ path: 's3.secret_access_key_file' }])

  writeFileSync(config, before)
  const unit = '/run/credentials/mailboxd.service'
  writeFileSync(
    config,
    before.replaceAll(own.cert, `${unit}/certificate.pem`).replaceAll(own.key, `${unit}/key.pem`),
  )
  const ofUnit = await check()
  t.equal(ofUnit.code, 0, ofUnit.stderr)
  t.match(JSON.parse(ofUnit.stdout).warnings, [
    { path: 'tls.certificate[0].certificate', message: /while the unit runs alone/ },
  ])

  const password = join(dir, 'password')
  writeFileSync(password, 'a secret\n', { mode: 0o600 })
  const server = 'database = "postgres://mailboxd@127.0.0.1/mailboxd"\n'
  writeFileSync(config, `${server}${before}[postgres]\npassword_file = "${password}"\n`)
  t.match(await faults(), [
    {
      path: 'postgres.password_file',
      message:
        /can not read .*EACCES.* belongs to root and has the mode 0600: .* As root: chgrp \d+ (\S+) && chmod g\+r \1$/,
    },
  ])
  chownSync(password, daemonId, daemonId)
  t.equal((await check()).code, 0)
  const smarthost = join(dir, 'smarthost')
  writeFileSync(
    config,
    `${before}[[delivery.route]]\nhost = "smtp.example.net"\nuser = "mailboxd"\npassword_file = "${smarthost}"\n`,
  )
  t.match(await faults(), [
    {
      path: 'delivery.route[0].password_file',
      message: /^the daemon can not read .* \(ENOENT\): make it, with the secret in its first line$/,
    },
  ])
  writeFileSync(smarthost, 'a secret\n', { mode: 0o600 })
  t.match(await faults(), [{ path: 'delivery.route[0].password_file', message: /can not read .*EACCES/ }])
  chownSync(smarthost, daemonId, daemonId)
  t.equal((await check()).code, 0)
  t.match(JSON.parse(right.stdout), { ok: true, warnings: [] })
})

t.test('config check misses the key that secrets are sealed with', async t => {
  const daemon = await startDaemon(t)
  await daemon.end('SIGTERM')
  t.match(await daemon.ctl('config', 'check'), { ok: true })
  const key = join(daemon.dataDir, 'secrets.key')
  const kept = readFileSync(key)
  rmSync(key)
  const missing = await daemon.ctlResult('config', 'check')
  t.equal(missing.code, 78)
  t.match(JSON.parse(missing.stderr).faults, [{ path: 'data_dir', message: /secrets\.key is missing/ }])
  const other = createServer().listen(0, '127.0.0.1')
  t.teardown(() => other.close())
  await once(other, 'listening')
  const taken = `127.0.0.1:${(other.address() as AddressInfo).port}`
  const config = readFileSync(daemon.configPath, 'utf8')
  writeFileSync(
    daemon.configPath,
    config.replace('[smtp]\nlisten = ["127.0.0.1:0"]', `[smtp]\nlisten = ["${taken}"]`),
  )
  const doctor = await daemon.ctlResult('doctor', '--reach', '127.0.0.1')
  t.equal(doctor.code, 2, doctor.stderr)
  const { findings } = JSON.parse(doctor.stdout) as { findings: { code: string; message: string }[] }
  t.match(findings.find(({ code }) => code === 'secret_key')?.message, /secrets\.key is missing/)
  t.match(
    findings.find(({ code }) => code === 'not_running'),
    { paste: new RegExp(`mailboxd --config ${daemon.configPath}$`) },
    'the service of systemd would start another one',
  )
  t.match(
    findings.find(({ code }) => code === 'port_taken'),
    {
      subject: taken,
      message: new RegExp(`^\\S+ \\(process ${process.pid}\\) listens there, .* \\(smtp\\.listen\\)$`),
      paste: `ss -ltnp 'sport = :${(other.address() as AddressInfo).port}'`,
    },
  )
  writeFileSync(key, 'damaged')
  const damaged = await daemon.ctlResult('config', 'check')
  t.match([damaged.code, damaged.stderr], [78, /secrets\.key is damaged/])
  writeFileSync(key, kept)
  t.match(await daemon.ctl('config', 'check'), { ok: true })
})
