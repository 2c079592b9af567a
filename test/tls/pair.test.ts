import { X509Certificate } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { systemClock } from '../../lib/base/time.ts'
import { checkPairs } from '../../lib/tls/check.ts'
import { CertificateFault, readPair } from '../../lib/tls/pair.ts'
import { writeCertificate, writeCertificateFor, writeIssuedCertificate } from '../support/certificate.ts'
import { runProgram } from '../support/program.ts'

const hostname = 'mail.example.com'

const inDays = (days: number) => new Date(systemClock.now().getTime() + days * 86_400_000)

/** The message of the fault that the two files give. */
async function faultOf(certificate: string, key: string, now = inDays(0)): Promise<string> {
  try {
    await readPair({ certificate, key }, now)
  } catch (error) {
    if (error instanceof CertificateFault) return `${error.file}: ${error.message}`
    throw error
  }
  return ''
}

t.test('files that belong together are taken', async t => {
  const names = [hostname, 'MX.example.com', '*.example.net']
  const { cert, key } = await writeCertificateFor(t.testdir(), names)
  const { pair, warnings } = await readPair({ certificate: cert, key }, inDays(0))
  t.equal(pair.cert, await readFile(cert, 'utf8'))
  t.equal(pair.key, await readFile(key, 'utf8'))
  t.strictSame(pair.names, ['mail.example.com', 'mx.example.com', '*.example.net'])
  t.same(pair.notAfter, new X509Certificate(pair.cert).validToDate)
  t.strictSame(warnings, [])
})

t.test('every fault of the files is said with the file and the repair', async t => {
  const dir = t.testdir({ a: {}, b: {}, empty: '', damaged: '' })
  const a = await writeCertificate(join(dir, 'a'), hostname)
  const b = await writeCertificate(join(dir, 'b'), hostname)
  const file = (name: string) => join(dir, name)

  t.match(await faultOf(file('none'), a.key), /^certificate: .*none can not be read: ENOENT/)
  t.match(await faultOf(a.cert, file('none')), /^key: .*none can not be read: ENOENT/)
  t.match(await faultOf(file('a'), a.key), /\/a can not be read: EISDIR/)
  t.match(await faultOf('/dev/zero', a.key), /\/dev\/zero is larger than 262144 bytes/)
  t.match(await faultOf(file('empty'), a.key), /empty holds no certificate/)
  t.match(await faultOf(a.cert, file('empty')), /empty holds no private key/)
  t.match(await faultOf(a.key, a.cert), /key\.pem holds no certificate/, 'the two turned round')
  t.match(await faultOf(a.cert, b.key), /b\/key\.pem is not the private key of .*a\/cert\.pem/)

  const pem = await readFile(a.cert, 'utf8')
  await writeFile(file('damaged'), pem.replace(/\n.{20}/, '\nAAAAAAAAAAAAAAAAAAAA'))
  t.match(await faultOf(file('damaged'), a.key), /damaged holds a damaged certificate/)
  await writeFile(file('chain'), (await readFile(b.cert, 'utf8')) + pem)
  t.match(await faultOf(file('chain'), a.key), /begins with another certificate: put the server's own first/)

  const locking = ['pkcs8', '-topk8', '-in', a.key, '-passout', 'pass:x', '-out', file('locked')]
  t.equal((await runProgram('openssl', locking)).code, 0)
  t.match(await faultOf(a.cert, file('locked')), /locked has a passphrase/)
})

t.test('one that is out of its time can be used, and is told', async t => {
  const { cert, key } = await writeCertificate(t.testdir(), hostname)
  const at = async (days: number) => {
    const { pair, outOfTime, warnings } = await readPair({ certificate: cert, key }, inDays(days))
    t.strictSame([pair.names, warnings], [[hostname], []])
    return outOfTime?.message
  }
  t.equal(await at(1), undefined)
  t.match(await at(31), /cert\.pem expired at 20\d\d-.*: renew it/)
  t.match(await at(-1), /is not valid before .*clock/)
})

t.test(
  'a file that this user may not read names the user',
  { skip: process.getuid?.() !== 0 && 'needs root' },
  async t => {
    const dir = t.testdir()
    const { cert, key } = await writeCertificate(dir, hostname)
    // Imported as root: nobody may not be allowed to read the checkout.
    const script = `const { readPair } = await import(${JSON.stringify(join(import.meta.dirname, '../../lib/tls/pair.ts'))})
    process.setgid(65534); process.setuid(65534)
    await readPair({ certificate: ${JSON.stringify(cert)}, key: ${JSON.stringify(key)} }, new Date()).catch(error => console.log(error.message))`
    const { stdout } = await runProgram(process.execPath, ['--input-type=module', '-e', script])
    t.match(stdout, /can not be read by the user nobody: EACCES/)
  },
)

t.test('what is doubtful about a chain is said, and the pair is taken', async t => {
  const dir = t.testdir()
  const { leaf, intermediate, root, key } = await writeIssuedCertificate(dir, hostname)
  const other = await readFile((await writeCertificate(dir, 'other.example')).cert, 'utf8')
  const warned = async (text: string) => {
    const certificate = join(dir, 'chain')
    await writeFile(certificate, text)
    const { warnings } = await readPair({ certificate, key }, inDays(0))
    return warnings.map(({ message }) => message).join()
  }
  t.equal(await warned(leaf + intermediate + root), '')
  t.match(
    await warned(leaf),
    /ends too early: add the certificate of "CN=Test Intermediate", which issued "CN=mail/,
  )
  t.equal(await warned(leaf + intermediate), '', 'nobody needs to be sent a root')
  t.match(
    await warned(leaf + root + intermediate),
    /wrong order: behind "CN=mail\.example\.com" must stand its issuer/,
  )
  t.match(await warned(leaf + other), /gap: behind "CN=mail\.example\.com" stands "CN=other\.example"/)
})

t.test('all pairs are checked at once, against the hostname and the end of their time', async t => {
  const dir = t.testdir()
  const one = await writeCertificateFor(dir, ['*.example.com'], { stem: 'one' })
  const two = await writeCertificateFor(dir, ['two.example.net'], { stem: 'two', days: 10 })
  const pair = (files: { cert: string; key: string }) => ({ certificate: files.cert, key: files.key })
  const check = (pairs: Parameters<typeof checkPairs>[0], host = hostname, issued: string[] = []) =>
    checkPairs(pairs, { hostname: host, issued, now: inDays(0) })
  t.strictSame(
    await check([pair(one)]),
    { faults: [], outOfTime: [], warnings: [] },
    'a wildcard is for the hostname, too',
  )
  t.match(await check([pair(two), pair(one)]), {
    faults: [],
    warnings: [{ index: 0, file: 'certificate', message: /expires within 14 days, at / }],
  })
  t.match((await check([pair(one)], 'a.b.example.com')).warnings, [
    {
      index: 0,
      message: /is for \*\.example\.com, and no certificate is for the hostname a\.b\.example\.com/,
    },
  ])
  t.strictSame((await check([pair(one)], 'a.b.example.com', ['a.b.example.com'])).warnings, [])
  const { faults } = await check([
    { certificate: one.cert, key: two.key },
    pair(one),
    { certificate: '/none', key: one.key },
  ])
  t.match(faults, [
    { index: 0, file: 'key' },
    { index: 2, file: 'certificate' },
  ])
})
