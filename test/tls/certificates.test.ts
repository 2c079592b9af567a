import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { readdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { connect, createServer as createTlsServer } from 'node:tls'
import t, { type Test } from 'tap'
import { createLog } from '../../lib/base/log.ts'
import { type Clock, systemClock } from '../../lib/base/time.ts'
import { type CertificatesParts, openCertificates } from '../../lib/tls/certificates.ts'
import { listCertificates } from '../../lib/tls/list.ts'
import { writeCertificate, writeCertificateFor } from '../support/certificate.ts'
import { writeExpiredCertificate } from '../support/expired-certificate.ts'

const hostname = 'mail.example.com'

/** The system's clock, `days` ahead. */
const inDays = (days: number): Clock => ({
  ...systemClock,
  now: () => new Date(systemClock.now().getTime() + days * 86_400_000),
})

async function open(t: Test, parts: Partial<CertificatesParts>) {
  const log: Record<string, unknown>[] = []
  const certificates = await openCertificates({
    pairs: [],
    issued: undefined,
    dataDir: '/nowhere',
    hostname,
    clock: systemClock,
    log: createLog('info', { write: line => void log.push(JSON.parse(line)) }),
    ...parts,
  })
  t.teardown(() => certificates.stop())
  return { certificates, log }
}

t.test('without files one is made once, kept for its owner alone, and serves TLS', async t => {
  const dataDir = t.testdir()
  const made = (await open(t, { dataDir })).certificates.current.fallback
  t.same(await readdir(dataDir), ['self-signed.pem'], 'no temporary file stays')
  t.equal((await stat(join(dataDir, 'self-signed.pem'))).mode & 0o777, 0o600)

  const certificate = new X509Certificate(made.cert)
  t.equal(certificate.subjectAltName, `DNS:${hostname}`)
  t.equal(certificate.publicKey.asymmetricKeyDetails?.namedCurve, 'prime256v1')
  const { validToDate } = certificate
  t.ok(validToDate > inDays(3640).now() && validToDate < inDays(3660).now(), 'ten years')
  t.equal((await open(t, { dataDir })).certificates.current.fallback.cert, made.cert, 'the same again')

  const server = createTlsServer({ key: made.key, cert: made.cert }, socket => socket.end())
  t.teardown(() => server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const client = connect({ host: '127.0.0.1', port, servername: hostname, ca: made.cert })
  await once(client, 'secureConnect')
  t.ok(client.authorized, 'the name and the signature are right')
  client.destroy()
})

t.test('it is made anew for another host, near its end, and when damaged', async t => {
  const dataDir = t.testdir()
  const path = join(dataDir, 'self-signed.pem')
  const made = async (parts: Partial<CertificatesParts> = {}) =>
    (await open(t, { dataDir, ...parts })).certificates.current.fallback
  const first = await made()
  t.equal((await made({ clock: inDays(3600) })).cert, first.cert)
  const late = await made({ clock: inDays(3630) })
  t.ok(new X509Certificate(late.cert).validToDate > inDays(7000).now())

  const long = `${'a'.repeat(60)}.${'b'.repeat(60)}.example.com`
  const other = await made({ hostname: long })
  t.equal(new X509Certificate(other.cert).subjectAltName, `DNS:${long}`)

  const whole = await readFile(path, 'utf8')
  for (const damaged of ['', 'x', whole.slice(0, 100), whole.slice(0, -100), whole.slice(20)]) {
    await writeFile(path, damaged)
    const again = await made({ hostname: long })
    t.equal(await readFile(path, 'utf8'), again.key + again.cert)
    t.ok(new X509Certificate(again.cert).verify(new X509Certificate(again.cert).publicKey))
  }

  await rm(path)
  await t.rejects(made({ dataDir: join(dataDir, 'none') }), { code: 'ENOENT' })
})

t.test('each name gets its certificate, a wildcard one label, any other name the first', async t => {
  const dir = t.testdir()
  const written = async (stem: string, names: string[]) => {
    const { cert, key } = await writeCertificateFor(dir, names, { stem })
    return { certificate: cert, key }
  }
  const pairs = [
    await written('one', [hostname]),
    await written('wild', ['*.example.net', hostname]),
    await written('exact', ['mx.example.net', 'example.net']),
  ]
  const { certificates } = await open(t, { pairs })
  const { current } = certificates
  const server = createTlsServer({
    ...current.fallback,
    SNICallback: (name, callback) => callback(null, current.contextFor(name)),
  })
  t.teardown(() => server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const shown = async (servername: string | undefined) => {
    const client = connect({
      host: '127.0.0.1',
      port,
      rejectUnauthorized: false,
      ...(servername !== undefined && { servername }),
    })
    await once(client, 'secureConnect')
    const { subject } = client.getPeerCertificate()
    client.destroy()
    return subject.CN
  }
  for (const [name, wanted] of [
    [hostname, hostname],
    ['MAIL.example.com', hostname],
    ['a.example.net', '*.example.net'],
    ['mx.example.net', 'mx.example.net'],
    ['example.net', 'mx.example.net'],
    ['a.b.example.net', hostname],
    ['elsewhere.example', hostname],
    [undefined, hostname],
  ] as const) {
    t.equal(await shown(name), wanted, `${name}`)
  }
})

t.test('files are read again when they are others; a broken pair leaves the old one', async t => {
  const dir = t.testdir()
  const files = { certificate: join(dir, 'live.cert'), key: join(dir, 'live.key') }
  /** As certbot does it: new files, and links that are put over the old ones. */
  const issue = async (stem: string) => {
    const { cert, key } = await writeCertificateFor(dir, [hostname], { stem })
    for (const [link, to] of [
      [files.certificate, cert],
      [files.key, key],
    ] as const) {
      await symlink(to, `${link}.new`)
      await rename(`${link}.new`, link)
    }
    return readFile(cert, 'utf8')
  }
  const first = await issue('1')
  const { certificates, log } = await open(t, { pairs: [files] })
  const changes: string[] = []
  certificates.onChange(set => void changes.push(set.fallback.cert))
  t.equal(certificates.current.fallback.cert, first)
  await certificates.look()
  t.strictSame(changes, [], 'nothing changed')
  const second = await issue('2')
  await certificates.look()
  t.strictSame(changes, [second])
  t.equal(certificates.current.fallback.cert, second)

  const stranger = await writeCertificate(dir, 'stranger.example')
  await rename(stranger.key, files.key)
  await certificates.look()
  await certificates.look()
  t.equal(certificates.current.fallback.cert, second)
  const faults = log.filter(entry => entry.level === 'error')
  t.equal(faults.length, 1, 'told once')
  t.match(faults, [
    {
      msg: 'the TLS certificate can not be used; the old one stays',
      err: { message: /is not the private key/ },
    },
  ])
  const third = await issue('3')
  await certificates.look()
  t.strictSame(changes, [second, third])
  await certificates.reload()
  t.equal(changes.length, 3, 'asked for, they are read in any case')
})

t.test('one that has expired is shown until there is a better one, and told once', async t => {
  const dir = t.testdir()
  const expired = await writeExpiredCertificate(dir, hostname)
  const files = { certificate: expired.cert, key: expired.key }
  const old = await readFile(expired.cert, 'utf8')
  const { certificates, log } = await open(t, { pairs: [files] })
  t.equal(certificates.current.fallback.cert, old)
  await certificates.look()
  t.match(
    log.map(({ level, msg }) => [level, msg]),
    [['error', /expired-cert\.pem expired at 20.*: renew it\. It is shown while there is no better/]],
  )
  t.equal(log.length, 1)
  const other = await writeCertificateFor(dir, [hostname], { stem: 'other' })
  const both = await open(t, { pairs: [files, { certificate: other.cert, key: other.key }] })
  const good = await readFile(other.cert, 'utf8')
  t.equal(both.certificates.current.fallback.cert, good, 'one that holds goes before it')
  const kept = await readFile(expired.key, 'utf8')
  await rename(other.key, files.key)
  await rename(other.cert, files.certificate)
  await certificates.look()
  t.equal(certificates.current.fallback.cert, good, 'renewed')
  await writeFile(files.certificate, old)
  await writeFile(files.key, kept)
  await certificates.look()
  t.equal(certificates.current.fallback.cert, good, 'and the expired one put back is not taken')
})

t.test('one that expires while the server runs goes behind the others, its files as they were', async t => {
  const dir = t.testdir()
  const written = async (stem: string, days: number) => {
    const { cert, key } = await writeCertificateFor(dir, [hostname], { stem, days })
    return { certificate: cert, key }
  }
  const pairs = [await written('short', 3), await written('long', 30)]
  const [short, long] = await Promise.all(pairs.map(({ certificate }) => readFile(certificate, 'utf8')))
  let days = 0
  const clock = { ...systemClock, now: () => inDays(days).now() }
  const { certificates, log } = await open(t, { pairs, clock })
  const changes: string[] = []
  certificates.onChange(set => void changes.push(set.fallback.cert))
  await certificates.look()
  t.equal(certificates.current.fallback.cert, short)
  const begin = log.length
  days = 4
  await certificates.look()
  await certificates.look()
  t.strictSame(changes, [long], 'the threads are told, once')
  t.equal(certificates.current.fallback.cert, long)
  t.match(
    log.slice(begin).map(({ level, msg }) => [level, msg]),
    [['error', /shortcert\.pem expired at .*: renew it\. It is shown while there is no better/]],
  )
  t.equal(log.length, begin + 1)
})

t.test('a broken pair leaves its old one, also when another pair is a new one', async t => {
  const dir = t.testdir()
  const written = async (stem: string, name: string) => {
    const { cert, key } = await writeCertificateFor(dir, [name], { stem })
    return { certificate: cert, key }
  }
  const pairs = [await written('one', hostname), await written('two', 'mx.example.net')]
  const { certificates } = await open(t, { pairs })
  const { key } = await written('stranger', 'stranger.example')
  await rename(key, pairs[1]!.key)
  await written('one', hostname)
  const old = certificates.current
  await certificates.look()
  t.not(certificates.current.fallback.cert, old.fallback.cert, 'the one is new')
  t.ok(certificates.current.contextFor('mx.example.net'), 'and the other as it was')
})

t.test('one that a CA issued is awaited, and takes the place of the self-signed one', async t => {
  const dataDir = t.testdir()
  const path = join(dataDir, 'issued.pem')
  const { certificates, log } = await open(t, { dataDir, issued: { certificate: path, key: path } })
  t.match(new X509Certificate(certificates.current.fallback.cert).issuer, hostname)
  t.strictSame(log, [])
  const { cert, key } = await writeCertificateFor(dataDir, ['issued.example'])
  await writeFile(path, (await readFile(key, 'utf8')) + (await readFile(cert, 'utf8')))
  await certificates.look()
  t.equal(new X509Certificate(certificates.current.fallback.cert).subject, 'CN=issued.example')
  t.ok(certificates.current.contextFor('issued.example'))
})

t.test('what there is is listed, with what is wrong with it', async t => {
  const dataDir = t.testdir()
  const now = systemClock.now()
  const path = join(dataDir, 'none.pem')
  const issued = { certificate: path, key: path }
  await open(t, { dataDir })
  t.match(await listCertificates({ pairs: [], issued: undefined, whyNotIssued: '', dataDir }, now), [
    { source: 'self-signed', names: hostname, problem: null },
  ])
  const { cert, key } = await writeCertificateFor(dataDir, [hostname, 'b.example'], { days: 3 })
  t.match(
    await listCertificates(
      { pairs: [{ certificate: cert, key }], issued, whyNotIssued: 'the CA says no', dataDir },
      systemClock.now(),
    ),
    [
      {
        source: 'file',
        names: 'mail.example.com, b.example',
        notAfter: /^20.*Z$/,
        problem: /expires within 14 days/,
      },
      { source: 'acme', names: null, notAfter: null, problem: 'the CA says no' },
    ],
  )
  const missing = { certificate: join(dataDir, 'gone.pem'), key: join(dataDir, 'gone.key') }
  const places = { pairs: [missing], issued, whyNotIssued: 'the CA says no', dataDir: join(dataDir, 'new') }
  t.match(await listCertificates(places, now), [
    { source: 'file', problem: /can not be read: ENOENT/ },
    { source: 'acme', problem: 'the CA says no' },
    { source: 'self-signed', names: null, problem: 'not made yet: mailboxd makes it when it starts' },
  ])
})
