import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { SMTPServer } from 'smtp-server'
import t, { type Test } from 'tap'
import { certificateSoonDays, checkDoors, checkWayOut } from '../../../lib/core/doctor/doors.ts'
import { startApi } from '../../support/api-app.ts'
import { type CertificateFiles, writeCertificateFor } from '../../support/certificate.ts'
import { startDns } from '../../support/dns.ts'
import { writeExpiredCertificate } from '../../support/expired-certificate.ts'
import { temporaryDir } from '../../support/temporary-dir.ts'

const isRoot = process.getuid?.() === 0
const skip = isRoot ? false : 'port 25 needs root'
const host = 'mail.ours.example'
/** Nobody else listens there. */
const address = '127.53.13.1'

/** A door of the server as others find it, on port 25. */
async function openDoor(
  t: Test,
  name: string,
  files: CertificateFiles,
  hidesStartTls = false,
): Promise<void> {
  const server = new SMTPServer({
    name,
    cert: readFileSync(files.cert),
    key: readFileSync(files.key),
    hideSTARTTLS: hidesStartTls,
    logger: false,
  })
  server.on('error', () => {})
  server.listen(25, address)
  await once(server.server, 'listening')
  t.teardown(() => new Promise<void>(resolve => server.close(resolve)))
}

t.test('each fault of a door is found, and a sound one has none', { skip }, async t => {
  const dir = temporaryDir(t)
  const make = (stem: string, name: string, days: number) => writeCertificateFor(dir, [name], { stem, days })
  const good = await make('good', host, 90)
  const short = await make('short', host, certificateSoonDays)
  const enough = await make('enough', host, certificateSoonDays + 1)
  const other = await make('other', 'somebody-else.example', 90)
  const unknown = await make('unknown', host, 90)
  const expired = await writeExpiredCertificate(dir, host)
  const before = getCACertificates('default')
  const trusted = [good, short, enough, other, expired].map(one => readFileSync(one.cert, 'utf8'))
  setDefaultCACertificates([...before, ...trusted])
  t.teardown(() => setDefaultCACertificates(before))
  const dns = await startDns({ [host]: { A: [address] } })
  t.teardown(() => dns.close())
  const { app } = await startApi(t, { dns: dns.server })
  const strict = Object.create(app, {
    config: { value: { ...app.config, mta_sts: { ...app.config.mta_sts, mode: 'enforce' } } },
  })
  const found = async (asked = app) =>
    (await checkDoors(asked, false)).map(({ level, code }) => [level, code])

  t.strictSame(await found(), [['error', 'door_closed']])
  const rows = [
    ['sound', host, good, false, []],
    ['of somebody else', 'mx.other.example', good, false, [['error', 'other_server']]],
    ['without TLS', host, good, true, [['error', 'starttls_missing']]],
    ['with a certificate for another name', host, other, false, [['warning', 'certificate_other_name']]],
    ['with one that nobody trusts', host, unknown, false, [['warning', 'certificate_not_trusted']]],
    ['with one that has ended', host, expired, false, [['warning', 'certificate_expired']]],
    ['with one that ends soon', host, short, false, [['warning', 'certificate_ends_soon']]],
    ['with one that has as many days yet as it needs', host, enough, false, []],
  ] as const
  for (const [what, name, files, hides, expected] of rows) {
    await t.test(what, async t => {
      await openDoor(t, name, files, hides)
      t.strictSame(await found(), expected)
    })
  }
  await t.test('where a policy demands it', async t => {
    await openDoor(t, host, other)
    t.match(await checkDoors(app, false), [{ message: /who wants to be sure delivers nothing/ }])
    t.match(await checkDoors(strict, false), [{ message: /clients refuse it/ }])
    t.strictSame(await found(strict), [['error', 'certificate_other_name']])
  })
})

t.test(
  'a name with a hyphen is ours, whatever the case, and another one with the same beginning is not',
  {
    skip,
  },
  async t => {
    const hostname = 'mail.acme-agents.de'
    const dns = await startDns({ [hostname]: { A: [address] } })
    t.teardown(() => dns.close())
    const { app } = await startApi(t, { dns: dns.server })
    const asked = Object.create(app, { config: { value: { ...app.config, hostname } } })
    const files = await writeCertificateFor(temporaryDir(t), [hostname])
    const found = async () => (await checkDoors(asked, false)).map(({ code }) => code)
    for (const [name, expected] of [
      [hostname, 'certificate_not_trusted'],
      ['Mail.Acme-Agents.de', 'certificate_not_trusted'],
      ['mail.acme-other.de', 'other_server'],
    ] as const) {
      await t.test(name, async t => {
        await openDoor(t, name, files)
        t.strictSame(await found(), [expected])
      })
    }
  },
)

t.test('where only the proxy is missing, the doctor says so and what it is to be', { skip }, async t => {
  const dns = await startDns({ [host]: { A: [address] } })
  t.teardown(() => dns.close())
  const { app } = await startApi(t, { dns: dns.server })
  const served = Object.create(app, { config: { value: { ...app.config, base_url: `https://${host}` } } })
  const ofApi = async (isUp: boolean) =>
    (await checkDoors(served, isUp))
      .filter(({ subject }) => subject.endsWith(':443'))
      .map(({ code, paste }) => [code, paste])
  t.strictSame(await ofApi(false), [['door_closed', 'mailboxctl status']], 'mailboxd does not run')
  t.match(await ofApi(true), [
    ['proxy_missing', /^https:\/\/mail\.ours\.example \{\n\treverse_proxy 127\.0\.0\.1:/],
  ])
  const acme = { ...app.config.acme, directory: 'https://ca.example/directory' }
  const http = { ...app.config.http, listen: ['127.0.0.1:8025'] }
  const ordering = Object.create(served, { config: { value: { ...served.config, acme, http } } })
  const [found] = (await checkDoors(ordering, true)).filter(({ code }) => code === 'proxy_missing')
  t.match(found?.message, /listen = \["127\.0\.0\.1:8080"\] under \[acme\]/)
  const guide = readFileSync(new URL('../../../docs/operators/tls-and-proxy.md', import.meta.url), 'utf8')
  const [, lines] = /Caddyfile <<'END'\n([\s\S]*?)\nEND/.exec(guide) ?? []
  t.equal(
    found?.paste,
    lines?.replaceAll('mail.example.com', host),
    'the lines of the guide, which are tried',
  )
})

t.test('what can not be tried is told, and is no fault', async t => {
  const dns = await startDns({})
  t.teardown(() => dns.close())
  dns.fail(host, 'SERVFAIL')
  const { app } = await startApi(t, { dns: dns.server })
  const codes = (findings: readonly { level: string; code: string }[]) =>
    findings.map(({ level, code }) => `${level} ${code}`)
  t.strictSame(codes(await checkDoors(app, false)), ['warning not_checked'])
  t.strictSame(codes(await checkWayOut(app, 'mx.elsewhere.example')), ['warning not_checked'])
})

t.test('the way out is open, or closed', { skip }, async t => {
  const dns = await startDns({ 'mx.elsewhere.example': { A: [address] } })
  t.teardown(() => dns.close())
  const { app } = await startApi(t, { dns: dns.server })
  t.match(await checkWayOut(app, 'mx.elsewhere.example'), [{ level: 'error', code: 'port_25_closed' }])
  await openDoor(t, 'mx.elsewhere.example', await writeCertificateFor(temporaryDir(t), ['x.example']))
  t.strictSame(await checkWayOut(app, 'mx.elsewhere.example'), [])
})
