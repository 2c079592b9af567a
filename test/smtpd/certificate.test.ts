import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { connect, createServer as createTlsServer } from 'node:tls'
import t from 'tap'
import { type Clock, systemClock } from '../../lib/base/clock.ts'
import { CertificateFault, loadCertificate } from '../../lib/smtpd/certificate.ts'
import { writeCertificate } from '../support/certificate.ts'
import { runProgram } from '../support/program.ts'

const hostname = 'mail.example.com'

/** The system's clock, `days` ahead. */
const inDays = (days: number): Clock => ({
  ...systemClock,
  now: () => new Date(systemClock.now().getTime() + days * 86_400_000),
})

/** The message of the fault that the two files give. */
async function faultOf(
  certificatePath: string,
  keyPath: string,
  clock: Clock = systemClock,
): Promise<string> {
  try {
    await loadCertificate({ certificatePath, keyPath, dataDir: '/nowhere', hostname, clock })
  } catch (error) {
    if (error instanceof CertificateFault) return error.message
    throw error
  }
  return ''
}

t.test('files that belong together are taken, and read anew each time', async t => {
  const { cert, key } = await writeCertificate(t.testdir(), hostname)
  const source = { certificatePath: cert, keyPath: key, dataDir: '/nowhere', hostname, clock: systemClock }
  const first = await loadCertificate(source)
  t.equal(first.cert, await readFile(cert, 'utf8'))
  t.equal(first.key, await readFile(key, 'utf8'))
  t.equal(first.selfSigned, false)
  t.same(first.notAfter, new X509Certificate(first.cert).validToDate)
  await writeCertificate(join(cert, '..'), hostname)
  t.not((await loadCertificate(source)).cert, first.cert)
})

t.test('every fault of the files is said with the file and the repair', async t => {
  const dir = t.testdir({ a: {}, b: {}, empty: '', damaged: '' })
  const a = await writeCertificate(join(dir, 'a'), hostname)
  const b = await writeCertificate(join(dir, 'b'), hostname)
  const file = (name: string) => join(dir, name)

  t.match(await faultOf(file('none'), a.key), /none can not be read: ENOENT/)
  t.match(await faultOf(a.cert, file('none')), /none can not be read: ENOENT/)
  t.match(await faultOf(file('a'), a.key), /\/a can not be read: EISDIR/)
  t.match(await faultOf(file('empty'), a.key), /empty holds no certificate/)
  t.match(await faultOf(a.cert, file('empty')), /empty holds no private key/)
  t.match(await faultOf(a.key, a.cert), /key\.pem holds no certificate/, 'the two turned round')
  t.match(await faultOf(a.cert, b.key), /b\/key\.pem is not the private key of .*a\/cert\.pem/)
  t.match(await faultOf(a.cert, a.key, inDays(31)), /cert\.pem expired at 20\d\d-.*: renew it/)
  t.match(await faultOf(a.cert, a.key, inDays(-1)), /is not valid before .*clock/)

  const pem = await readFile(a.cert, 'utf8')
  await writeFile(file('damaged'), pem.replace(/\n.{20}/, '\nAAAAAAAAAAAAAAAAAAAA'))
  t.match(await faultOf(file('damaged'), a.key), /damaged holds a damaged certificate/)
  await writeFile(file('chain'), (await readFile(b.cert, 'utf8')) + pem)
  t.match(await faultOf(file('chain'), a.key), /begins with another certificate: put the server's own first/)
  await writeFile(file('right-chain'), pem + (await readFile(b.cert, 'utf8')))
  t.equal(await faultOf(file('right-chain'), a.key), '')

  const locking = ['pkcs8', '-topk8', '-in', a.key, '-passout', 'pass:x', '-out', file('locked')]
  t.equal((await runProgram('openssl', locking)).code, 0)
  t.match(await faultOf(a.cert, file('locked')), /locked has a passphrase/)

  const alone = { certificatePath: a.cert, dataDir: dir, hostname, clock: systemClock }
  await t.rejects(loadCertificate(alone), { name: 'CertificateFault', message: /stands alone/ })
  t.notOk((await readdir(dir)).includes('self-signed.pem'), 'and none is made in its place')
})

t.test('without files one is made once, kept for its owner alone, and serves TLS', async t => {
  const dataDir = t.testdir()
  const made = await loadCertificate({ dataDir, hostname, clock: systemClock })
  t.equal(made.selfSigned, true)
  t.same(await readdir(dataDir), ['self-signed.pem'], 'no temporary file stays')
  t.equal((await stat(join(dataDir, 'self-signed.pem'))).mode & 0o777, 0o600)

  const certificate = new X509Certificate(made.cert)
  t.equal(certificate.subjectAltName, `DNS:${hostname}`)
  t.equal(certificate.publicKey.asymmetricKeyDetails?.namedCurve, 'prime256v1')
  t.ok(made.notAfter > inDays(3640).now() && made.notAfter < inDays(3660).now(), 'ten years')
  t.strictSame(await loadCertificate({ dataDir, hostname, clock: systemClock }), made, 'the same again')

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
  const first = await loadCertificate({ dataDir, hostname, clock: systemClock })
  t.equal((await loadCertificate({ dataDir, hostname, clock: inDays(3600) })).cert, first.cert)
  const late = await loadCertificate({ dataDir, hostname, clock: inDays(3630) })
  t.ok(late.notAfter > inDays(7000).now())

  const long = `${'a'.repeat(60)}.${'b'.repeat(60)}.example.com`
  const other = await loadCertificate({ dataDir, hostname: long, clock: systemClock })
  t.equal(new X509Certificate(other.cert).subjectAltName, `DNS:${long}`)

  const whole = await readFile(path, 'utf8')
  for (const damaged of ['', 'x', whole.slice(0, 100), whole.slice(0, -100), whole.slice(20)]) {
    await writeFile(path, damaged)
    const again = await loadCertificate({ dataDir, hostname: long, clock: systemClock })
    t.equal(await readFile(path, 'utf8'), again.key + again.cert)
    t.ok(new X509Certificate(again.cert).verify(new X509Certificate(again.cert).publicKey))
  }

  await rm(path)
  await t.rejects(loadCertificate({ dataDir: join(dataDir, 'none'), hostname, clock: systemClock }), {
    code: 'ENOENT',
  })
})
