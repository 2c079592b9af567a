import { generateKeyPairSync } from 'node:crypto'
import t from 'tap'
import { zoneFile } from '../../lib/mail/domain/records.ts'
import type { Domain } from '../../lib/model/domain.ts'
import { apiOf } from '../support/api.ts'
import { startDaemon } from '../support/daemon.ts'
import { startKnot } from '../support/knot.ts'
import { without } from '../support/peers.ts'

/** Nobody else listens there, and port 53 is where name servers are asked. */
const address = '127.53.12.4'

/** Whole names of one zone file, with the final dot. */
const txt = (name: string, text: string) => zoneFile([{ type: 'TXT', name, value: text, priority: null }])

t.test('each fault of a domain is told, by its own name server', { skip: without('knot') }, async t => {
  const daemon = await startDaemon(t, { dns: `${address}:53` })
  const faults: Readonly<Record<string, (records: Domain['records']) => string>> = {
    'unpublished.example': () => '',
    'competing.example': records => `${zoneFile(records)}competing.example. MX 5 mx.other.example.\n`,
    'spf-several.example': records =>
      zoneFile(records) +
      txt('spf-several.example', 'v=spf1 -all') +
      txt('spf-several.example', 'v=spf1 mx -all'),
    'spf-open.example': records => zoneFile(records) + txt('spf-open.example', 'v=spf1 mx +all'),
    'dkim-cut.example': records => changed(records, 'dkim', text => text.slice(0, 255)),
    'dkim-revoked.example': records => changed(records, 'dkim', () => 'v=DKIM1; p='),
    'dkim-weak.example': records => changed(records, 'dkim', () => `v=DKIM1; p=${weakKey()}`),
    'dkim-several.example': records =>
      zoneFile(records) + txt('mailboxd._domainkey.dkim-several.example', 'v=DKIM1; p='),
    'dmarc-several.example': records =>
      zoneFile(records) + txt('_dmarc.dmarc-several.example', 'v=DMARC1; p=reject'),
    'dmarc-reports.example': records =>
      changed(records, 'dmarc', () => 'v=DMARC1; p=none; rua=mailto:reports@elsewhere.test'),
    'bounces-elsewhere.example': records =>
      `${zoneFile(records)}bounce.bounces-elsewhere.example. MX 5 mx.other.example.\n`,
  }
  const { token } = await daemon.ctl('key', 'create')
  const api = apiOf(daemon.baseUrl, String(token))
  const zones: string[] = []
  for (const [name, publish] of Object.entries(faults)) {
    const { body } = await api.post('/v1/domains', { domain: name })
    zones.push(publish(body.records))
  }
  const { data: own } = (await daemon.ctl('domain', 'records')) as { data: Domain['records'] }
  await startKnot(t, address, {
    example: `mail.ours A 192.0.2.9\n${zoneFile(own)}${zones.join('')}`,
    '2.0.192.in-addr.arpa': '9 PTR mail.ours.example.\n',
  })
  const check = async (...args: string[]) => {
    const { code, stdout } = await daemon.ctlResult('dns', 'check', ...args)
    const said = JSON.parse(stdout) as {
      domain: Domain
      findings: { level: string; code: string; paste: string }[]
    }
    const told = said.findings.filter(one => one.level !== 'hint').map(one => one.code)
    return { code, told, said }
  }
  const well = await check()
  t.strictSame([well.code, well.told], [0, []], JSON.stringify(well.said))
  t.equal(well.said.domain.status, 'verified')
  t.match(well.said.findings.map(one => one.code).sort(), [
    'caa_missing',
    'mta_sts_missing',
    'tls_rpt_missing',
  ])

  const expected: Readonly<Record<string, readonly [code: number, ...told: string[]]>> = {
    'unpublished.example': [
      2,
      'mx_missing',
      'dkim_missing',
      'return_path_missing',
      'spf_missing',
      'dmarc_missing',
      'dkim_ed25519_missing',
    ],
    'competing.example': [1, 'competing_mx'],
    'spf-several.example': [2, 'spf_several'],
    'spf-open.example': [2, 'spf_allows_all'],
    'dkim-cut.example': [2, 'dkim_truncated'],
    'dkim-revoked.example': [2, 'dkim_revoked'],
    'dkim-weak.example': [2, 'dkim_weak'],
    'dkim-several.example': [2, 'dkim_several'],
    'dmarc-several.example': [2, 'dmarc_several'],
    'dmarc-reports.example': [1, 'dmarc_reports_not_authorised'],
    'bounces-elsewhere.example': [2, 'return_path_invalid'],
  }
  for (const [name, [code, ...told]] of Object.entries(expected)) {
    const found = await check(name)
    t.strictSame([found.code, found.told], [code, told], name)
  }
  const doctor = await daemon.ctlResult('doctor')
  t.equal(doctor.code, 1, doctor.stdout)
  t.match(doctor.stdout, /"certificate_self_signed"[\s\S]*"base_url_missing"/)
})

function changed(records: Domain['records'], purpose: string, change: (text: string) => string): string {
  return zoneFile(records.map(one => (one.purpose === purpose ? { ...one, value: change(one.value) } : one)))
}

function weakKey(): string {
  const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 768 })
  return publicKey.export({ type: 'spki', format: 'der' }).toString('base64')
}
