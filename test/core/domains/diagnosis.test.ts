import { generateKeyPairSync } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import t, { type Test } from 'tap'
import { type Config, parseConfig } from '../../../lib/config/load.ts'
import type { App } from '../../../lib/core/app/app.ts'
import { operator } from '../../../lib/core/app/caller.ts'
import { diagnoseDomain } from '../../../lib/core/domains/diagnosis.ts'
import { createDomain, getDomainByName } from '../../../lib/core/domains/domains.ts'
import { dmarcRecord, zoneFile } from '../../../lib/mail/domain/records.ts'
import type { Domain } from '../../../lib/model/domain.ts'
import { startApi } from '../../support/api-app.ts'
import { writeCertificateFor } from '../../support/certificate.ts'
import { startKnot } from '../../support/knot.ts'
import { without } from '../../support/peers.ts'
import { nodeRow, putNodeRow } from '../../support/rows.ts'
import { temporaryDir } from '../../support/temporary-dir.ts'

/** Nobody else listens there; port 53 is where name servers are asked, and 443 where policies are. */
const address = '127.53.12.5'

type Records = Domain['records']

/** A domain with one fault. */
interface Case {
  /** Its zone, where its records are not as they are to be. */
  readonly zone?: (records: Records, domain: string) => string
  /** Codes of what is found, beside what is found of every zone that is not signed and has no policy. */
  readonly found: readonly string[]
  /** What to publish for the finding about the server's name. */
  readonly paste?: string
  /** Another name of the server, with the lines of its zone. */
  readonly host?: readonly [name: string, lines: string]
  readonly signed?: 'joined' | 'alone'
  /** What each finding of these codes says. */
  readonly says?: RegExp
  /** Settings that differ. */
  readonly config?: (config: Config) => Config
  /** Whether another node works beside this one, on one database. */
  readonly isWithNode?: boolean
  /** By how much later it is. */
  readonly days?: number
}

const txt = (name: string, ...texts: string[]) =>
  texts.map(value => zoneFile([{ type: 'TXT', name, value, priority: null }])).join('')
const mx = (name: string, host: string, priority: number) => `${name}. MX ${priority} ${host}.\n`
const reports = (domain: string) => txt(`_smtp._tls.${domain}`, `v=TLSRPTv1; rua=mailto:tls@${domain}`)
/** All that a domain needs, but for the records of these purposes. */
const sound = (records: Records, domain: string, ...left: string[]) =>
  zoneFile(records.filter(({ purpose }) => !left.includes(purpose))) + reports(domain)
const changed = (purpose: string, change: (value: string) => string) => (records: Records, domain: string) =>
  zoneFile(records.map(one => (one.purpose === purpose ? { ...one, value: change(one.value) } : one))) +
  reports(domain)
const more = (lines: (domain: string) => string) => (records: Records, domain: string) =>
  sound(records, domain) + lines(domain)
/** With another SPF for mail. */
const spf =
  (text: string, lines: (domain: string) => string = () => '') =>
  (records: Records, domain: string) =>
    sound(records, domain, 'spf') + txt(`bounce.${domain}`, text) + lines(domain)
const sts = (host: string) =>
  more(domain => `${txt(`_mta-sts.${domain}`, 'v=STSv1; id=1')}mta-sts.${domain}. A ${host}\n`)
const helo = 'v=spf1 a -all'
/** A name of the server whose zone is right, but for what is left out. */
const named = (name: string, lines: string) => [name, lines] as const
const caa = '@ CAA 0 issue "letsencrypt.org"\n'
const helloSpf = `@ TXT "${helo}"\n`
const withAcme = (config: Config): Config => ({
  ...config,
  acme: { ...config.acme, directory: 'https://acme-v02.api.letsencrypt.org/directory' },
})
const many = (count: number) => Array.from({ length: count }, (_, index) => `include:s${index}.spf.example`)

const cases: Readonly<Record<string, Case>> = {
  ordinary: { found: [] },
  unpublished: {
    zone: () => '',
    found: [
      'mx_missing',
      'dkim_missing',
      'return_path_missing',
      'spf_missing',
      'dmarc_missing',
      'dkim_ed25519_missing',
      'tls_rpt_missing',
    ],
  },
  'mx-elsewhere': {
    zone: (records, domain) => sound(records, domain, 'mx') + mx(domain, 'mx.other.example', 5),
    found: ['mx_invalid'],
  },
  'mx-before': { zone: more(domain => mx(domain, 'mx.other.example', 5)), found: ['competing_mx'] },
  'mx-beside': { zone: more(domain => mx(domain, 'mx.other.example', 10)), found: ['competing_mx'] },
  'mx-after': { zone: more(domain => mx(domain, 'mx.other.example', 20)), found: ['competing_mx'] },
  'spf-several': {
    zone: spf(helo, domain => txt(`bounce.${domain}`, 'v=spf1 -all')),
    found: ['spf_several'],
  },
  'spf-open': { zone: spf('v=spf1 a:mail.ours.example +all'), found: ['spf_allows_all'] },
  'spf-long': { zone: spf(`v=spf1 ${many(11).join(' ')} -all`), found: ['spf_too_many_lookups'] },
  'spf-ten': { zone: spf(`v=spf1 ${many(9).join(' ')} a:mail.ours.example -all`), found: [] },
  'spf-broken': { zone: spf('v=spf1 a:mail.ours.example nonsense -all'), found: ['spf_broken'] },
  'spf-fails': { zone: spf('v=spf1 ip4:192.0.2.99 -all'), found: ['spf_fails'] },
  'spf-one-of-two': {
    zone: spf('v=spf1 ip4:192.0.2.9 -all'),
    found: ['spf_fails', 'spf_fails'],
    config: config => ({
      ...config,
      delivery: { ...config.delivery, public_addresses: ['192.0.2.9', '198.51.100.4'] },
    }),
  },
  'spf-own-several': { zone: more(domain => txt(domain, helo, 'v=spf1 -all')), found: ['spf_several'] },
  'spf-own-open': { zone: more(domain => txt(domain, 'v=spf1 mx all')), found: ['spf_allows_all'] },
  'spf-own-without-us': { zone: more(domain => txt(domain, 'v=spf1 -all')), found: ['spf_without_us'] },
  'dkim-other': { zone: changed('dkim', () => `v=DKIM1; p=${key(2048)}`), found: ['dkim_invalid'] },
  'dkim-cut': { zone: changed('dkim', text => text.slice(0, 255)), found: ['dkim_truncated'] },
  'dkim-revoked': { zone: changed('dkim', () => 'v=DKIM1; p='), found: ['dkim_revoked'] },
  'dkim-weak': { zone: changed('dkim', () => `v=DKIM1; p=${key(768)}`), found: ['dkim_weak'] },
  'dkim-broken': { zone: changed('dkim', () => 'v=DKIM1; p=bm90IGEga2V5'), found: ['dkim_broken'] },
  'dkim-several': {
    zone: more(domain => txt(`mailboxd._domainkey.${domain}`, 'v=DKIM1; p=')),
    found: ['dkim_several'],
  },
  'dkim-ed25519-other': {
    zone: changed('dkim-ed25519', text => text.replace(/p=..../, 'p=AAAA')),
    found: ['dkim_ed25519_invalid'],
  },
  'dmarc-missing': {
    zone: (records, domain) => sound(records, domain, 'dmarc'),
    found: ['dmarc_missing'],
  },
  'dmarc-invalid': { zone: changed('dmarc', () => 'v=DMARC2; p=none'), found: ['dmarc_invalid'] },
  'dmarc-several': {
    zone: more(domain => txt(`_dmarc.${domain}`, 'v=DMARC1; p=reject')),
    found: ['dmarc_several'],
  },
  'dmarc-reports': {
    zone: changed('dmarc', () => 'v=DMARC1; p=none; rua=mailto:a@elsewhere.test.example'),
    found: ['dmarc_reports_not_authorised'],
  },
  'dmarc-failures': {
    zone: changed('dmarc', () => 'v=DMARC1; p=none; ruf=mailto:a@elsewhere.test.example!10m'),
    found: ['dmarc_reports_not_authorised'],
  },
  'dmarc-authorised': {
    zone: changed('dmarc', () => 'v=DMARC1; p=none; rua=mailto:a@reports.example'),
    found: [],
  },
  'bounces-elsewhere': {
    zone: more(domain => mx(`bounce.${domain}`, 'mx.other.example', 5)),
    found: ['return_path_invalid'],
  },
  'bounces-nowhere': {
    zone: (records, domain) => sound(records, domain, 'return-path'),
    found: ['return_path_missing'],
  },
  'bounces-alias': {
    zone: (records, domain) => `${sound(records, domain, 'return-path', 'spf')}bounce CNAME elsewhere\n`,
    found: ['return_path_missing', 'spf_missing'],
    says: /^A CNAME stands at this name \(to elsewhere\.bounces-alias\.example\), .*: remove it/,
  },
  'tls-rpt-missing': { zone: records => zoneFile(records), found: ['tls_rpt_missing'] },
  'tls-rpt-broken': {
    zone: (records, domain) => zoneFile(records) + txt(`_smtp._tls.${domain}`, 'v=TLSRPTv1;'),
    found: ['tls_rpt_broken'],
  },
  'sts-broken': { zone: more(domain => txt(`_mta-sts.${domain}`, 'v=STSv1;')), found: ['mta_sts_broken'] },
  'sts-unreachable': { zone: sts('127.53.12.6'), found: ['mta_sts_unreachable'] },
  'sts-no-policy': { zone: sts(address), found: ['mta_sts_invalid_policy'] },
  'sts-other': { zone: sts(address), found: ['mta_sts_other_host'] },
  'dnssec-no-ds': { signed: 'alone', found: ['dnssec_no_ds'] },
  'dnssec-other-ds': { found: ['dnssec_broken'] },
  'dnssec-ends-soon': { signed: 'joined', days: 13, found: ['dnssec_ends_soon'] },
  'dnssec-expired': { signed: 'joined', days: 20, found: ['dnssec_expired'] },
  'host-nowhere': {
    host: named('nowhere.example', caa + helloSpf),
    config: config => ({
      ...config,
      delivery: { ...config.delivery, public_addresses: ['203.0.113.9', '2001:db8::9'] },
    }),
    found: ['host_without_address', 'spf_fails', 'spf_fails'],
    paste: 'nowhere.example. 3600 IN A 203.0.113.9\nnowhere.example. 3600 IN AAAA 2001:db8::9',
  },
  'host-elsewhere': {
    host: named('elsewhere.example', `${caa}${helloSpf}@ A 192.0.2.27\n`),
    config: config => ({
      ...config,
      delivery: { ...config.delivery, public_addresses: ['203.0.113.9'] },
    }),
    // Its PTR is not asked for.
    found: ['host_elsewhere', 'spf_fails', 'spf_fails'],
    paste: 'elsewhere.example. 3600 IN A 203.0.113.9',
  },
  'host-of-two-nodes': {
    host: named('twonodes.example', `${caa}${helloSpf}@ A 192.0.2.28\n@ A 192.0.2.29\n`),
    isWithNode: true,
    config: config => ({
      ...config,
      delivery: { ...config.delivery, public_addresses: ['192.0.2.28'] },
    }),
    found: ['host_elsewhere', 'ptr_mismatch'],
    says: /192\.0\.2\.29/,
  },
  'host-of-other-nodes': {
    host: named('others.example', `${caa}${helloSpf}@ A 192.0.2.29\n`),
    isWithNode: true,
    config: config => ({
      ...config,
      delivery: { ...config.delivery, public_addresses: ['192.0.2.28'] },
    }),
    found: ['host_elsewhere', 'spf_fails', 'spf_fails'],
    paste: 'others.example. 3600 IN A 192.0.2.28',
  },
  'host-alias': {
    host: named('alias.example', `${caa}mx CNAME real\nreal A 192.0.2.26\nreal TXT "${helo}"\n`),
    found: ['host_is_alias'],
    paste: 'mx.alias.example. 3600 IN A 192.0.2.26',
  },
  'host-without-ptr': {
    host: named('noptr.example', `${caa}${helloSpf}@ A 192.0.2.20\n`),
    found: ['ptr_mismatch'],
  },
  'host-other-ptr': {
    host: named('otherptr.example', `${caa}${helloSpf}@ A 192.0.2.21\n`),
    found: ['ptr_mismatch'],
  },
  'host-nobodys': {
    host: named('mail.lan', ''),
    found: ['helo_name', ...Array<string>(4).fill('dns_unanswered')],
  },
  'helo-without-spf': {
    host: named('nospf.example', `${caa}@ A 192.0.2.22\n`),
    found: ['spf_helo_missing'],
  },
  'helo-spf-fails': {
    host: named('badspf.example', `${caa}@ A 192.0.2.23\n@ TXT "v=spf1 -all"\n`),
    found: ['spf_fails'],
  },
  'caa-missing': {
    host: named('nocaa.example', `${helloSpf}@ A 192.0.2.24\n`),
    found: ['caa_missing'],
  },
  'caa-forbids': {
    host: named('othercaa.example', `${helloSpf}@ A 192.0.2.25\n@ CAA 0 issue "pki.goog"\n`),
    config: withAcme,
    found: ['caa_forbids'],
  },
  'caa-allows': { config: withAcme, found: [] },
}

/** What is found of every zone that is not signed, or has no policy. */
function ordinary(name: string, { signed }: Case): string[] {
  const isSigned = signed !== undefined || name.startsWith('dnssec-')
  return [...(isSigned ? [] : ['dnssec_unsigned']), ...(name.startsWith('sts-') ? [] : ['mta_sts_missing'])]
}

t.test('each fault is found, and nothing else', { skip: without('knot', 'keymgr') }, async t => {
  const { app } = await startApi(t, {
    dns: `${address}:53`,
    toml: '[delivery]\nallow_networks = ["127.0.0.0/8"]\n',
  })
  await startPolicies(t, [
    'mta-sts.sound.example',
    'mta-sts.sts-other.example',
    'mta-sts.sts-no-policy.example',
  ])
  await app.store.write(db => putNodeRow(db, nodeRow('another')))
  const all: Readonly<Record<string, Case>> = {
    ...cases,
    sound: { zone: sts(address), signed: 'joined', found: [] },
  }
  const zones: Record<string, string> = {
    example: `dnssec-other-ds.example. DS 1 13 2 ${'00'.repeat(32)}\n`,
    'ours.example': `mail A 192.0.2.9\nmail TXT "${helo}"\nmail CAA 0 issue "letsencrypt.org"\n`,
    'spf.example': many(11)
      .map((_, index) => `s${index} TXT "v=spf1 ip4:203.0.113.${index} -all"\n`)
      .join(''),
    'reports.example': '*._report._dmarc TXT "v=DMARC1"\n',
    '2.0.192.in-addr.arpa': [
      '9 PTR mail.ours.example.',
      '21 PTR somebody.else.example.',
      '22 PTR nospf.example.',
      '23 PTR badspf.example.',
      '24 PTR nocaa.example.',
      '25 PTR othercaa.example.',
      '26 PTR mx.alias.example.',
      '28 PTR twonodes.example.',
    ].join('\n'),
  }
  const apps = new Map<string, App>()
  for (const [name, one] of Object.entries(all)) {
    const domain = `${name}.example`
    await createDomain(app, operator, { domain })
    const mine = appFor(app, one)
    apps.set(name, mine)
    const { records } = await getDomainByName(mine, domain)
    // DNS does not answer yet, so the API does not list the DMARC record.
    const dmarc = { ...dmarcRecord(domain), status: 'missing' as const, found: [], problem: null }
    zones[domain] = (one.zone ?? sound)([...records, dmarc], domain)
    if (one.host && one.host[0] !== 'mail.lan') zones[one.host[0]] = one.host[1]
  }
  const signed = Object.fromEntries(
    Object.entries(all).flatMap(([name, one]) => (one.signed ? [[`${name}.example`, one.signed]] : [])),
  )
  await startKnot(t, address, zones, { ...signed, 'dnssec-other-ds.example': 'alone' })
  for (const [name, one] of Object.entries(all)) {
    const { domain, findings } = await diagnoseDomain(apps.get(name)!, `${name}.example`)
    const codes = findings.map(({ code }) => code).sort()
    const expected = name === 'sound' ? [] : [...ordinary(name, one), ...one.found]
    t.strictSame(codes, expected.sort(), `${name}: ${JSON.stringify(findings)}`)
    const beside = findings.filter(({ code }) => one.says && one.found.includes(code))
    for (const { message } of beside) t.match(message, one.says!, name)
    const ofHost = findings.find(({ code }) => code.startsWith('host_'))
    t.equal(ofHost?.paste ?? undefined, one.paste, name)
    const elsewhere = findings.find(({ code }) => code === 'host_elsewhere')?.level
    if (elsewhere) t.equal(elsewhere, name === 'host-of-two-nodes' ? 'hint' : 'error', name)
    const level = findings.find(({ code }) => code === 'competing_mx')?.level
    t.equal(level, { 'mx-before': 'error', 'mx-beside': 'warning', 'mx-after': 'hint' }[name], name)
    if (findings.some(({ level }) => level === 'error')) t.not(domain.status, 'verified', name)
  }
})

function appFor(app: App, { host, config = same => same, isWithNode = false, days = 0 }: Case): App {
  const text = `hostname = "${host?.[0] === 'alias.example' ? 'mx.alias.example' : (host?.[0] ?? 'mail.ours.example')}"`
  const { hostname } = parseConfig(`${text}\naccount_domain = "ours.example"`, 'test')
  const clock = { ...app.clock, now: () => new Date(app.clock.now().getTime() + days * 86_400_000) }
  return Object.create(app, {
    config: { value: config({ ...app.config, hostname }) },
    clock: { value: clock },
    // Rows are asked as ever: only which database it is decides whether there can be another node.
    ...(isWithNode && { store: { value: Object.create(app.store, { dialect: { value: 'postgres' } }) } }),
  })
}

/** Serves the policies of MTA-STS, with a certificate that this process believes in. */
async function startPolicies(t: Test, names: readonly string[]): Promise<void> {
  const { cert, key: keyPath } = await writeCertificateFor(temporaryDir(t), names)
  const pem = readFileSync(cert, 'utf8')
  const before = getCACertificates('default')
  setDefaultCACertificates([...before, pem])
  const server = createServer({ cert: pem, key: readFileSync(keyPath) }, (request, response) => {
    response.setHeader('Content-Type', 'text/plain')
    const host = request.headers.host ?? ''
    const mxOf = host.includes('sts-other') ? 'mx.other.example' : 'mail.ours.example'
    const policy = `version: STSv1\nmode: enforce\nmx: ${mxOf}\nmax_age: 86400\n`
    response.end(host.includes('sts-no-policy') ? '<html>' : policy)
  })
  await new Promise<void>(resolve => server.listen(443, address, resolve))
  t.teardown(() => {
    setDefaultCACertificates(before)
    server.closeAllConnections()
    return new Promise(resolve => server.close(resolve))
  })
}

function key(modulusLength: number): string {
  const { publicKey } = generateKeyPairSync('rsa', { modulusLength })
  return publicKey.export({ type: 'spki', format: 'der' }).toString('base64')
}
