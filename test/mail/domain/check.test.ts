import t from 'tap'
import { systemClock } from '../../../lib/base/time.ts'
import { createDns } from '../../../lib/courier/dns.ts'
import { generateDkimKey } from '../../../lib/mail/compose/dkim.ts'
import { checkDomain } from '../../../lib/mail/domain/check.ts'
import { domainRecords } from '../../../lib/mail/domain/records.ts'
import type { Sources } from '../../../lib/mail/domain/sources.ts'
import { type DnsRecords, startDns } from '../../support/dns.ts'

const { publicKeyBase64 } = await generateDkimKey()
const another = (await generateDkimKey()).publicKeyBase64
const names = {
  domain: 'theirs.example',
  hostname: 'mail.ours.example',
  selector: 'mailboxd',
  publicKeyBase64,
}
const dkimName = 'mailboxd._domainkey.theirs.example'
const sources: Sources = { ipv4: [], ipv6: [], useIpv6: false }

/** What a check finds when these names stand in DNS, besides the server's own. */
async function check(
  zone: Record<string, DnsRecords>,
  from: Partial<Sources> = {},
  unanswered: string[] = [],
) {
  const server = await startDns({
    'mail.ours.example': { A: ['192.0.2.1', '192.0.2.2'], AAAA: ['2001:db8::1'] },
    ...zone,
  })
  for (const name of unanswered) server.fail(name, 'SERVFAIL')
  const dns = createDns({ servers: [server.server], timeoutMs: 5000 })
  try {
    const findings = await checkDomain(names, { dns, clock: systemClock, sources: { ...sources, ...from } })
    // What was found instead is what test/api/domain-claims.test.ts looks at.
    const { found: _found, keys: _keys, ...judged } = findings
    return judged
  } finally {
    await server.close()
  }
}

const txt = (name: string, ...texts: (string | string[])[]) => check({ [name]: { TXT: texts } })
const dkim = async (...texts: (string | string[])[]) => (await txt(dkimName, ...texts)).records.dkim
const spf = async (text: string, zone: Record<string, DnsRecords> = {}, from: Partial<Sources> = {}) =>
  (await check({ 'bounce.theirs.example': { TXT: ['another text', text] }, ...zone }, from)).records.spf
const dmarc = async (zone: Record<string, DnsRecords>) => (await check(zone)).records.dmarc
const mx = (...hosts: [number, string][]): DnsRecords => ({
  MX: hosts.map(([priority, exchange]) => ({ priority, exchange })),
})

t.test('nothing is there, and all as it was asked for', async t => {
  const none = { mx: 'missing', dkim: 'missing', 'return-path': 'missing', spf: 'missing', dmarc: 'missing' }
  t.strictSame(await check({}), { records: none, competingHosts: [] })
  const zone: Record<string, DnsRecords> = {}
  for (const { name, type, value, priority } of domainRecords(names)) {
    const records = type === 'MX' ? mx([priority!, value]) : { TXT: [value] }
    zone[name] = { ...zone[name], ...records }
  }
  const all = { mx: 'valid', dkim: 'valid', 'return-path': 'valid', spf: 'valid', dmarc: 'valid' }
  t.strictSame(await check(zone), { records: all, competingHosts: [] })
  t.strictSame(await check(zone, { useIpv6: true }), {
    records: { ...all, spf: 'valid' },
    competingHosts: [],
  })
})

t.test('MX', async t => {
  const found = async (...hosts: [number, string][]) => {
    const { records, competingHosts } = await check({
      'theirs.example': mx(...hosts),
      'bounce.theirs.example': mx(...hosts),
    })
    return [records.mx, records['return-path'], ...competingHosts!]
  }
  t.strictSame(await found([50, 'MAIL.Ours.Example']), ['valid', 'valid'])
  t.strictSame(await found([10, 'mail.ours.example'], [20, 'mx.other.example']), ['valid', 'valid'])
  t.strictSame(await found([10, 'mail.ours.example'], [10, 'MX.other.example']), [
    'valid',
    'invalid',
    'mx.other.example',
  ])
  t.strictSame(await found([10, 'mail.ours.example'], [0, 'b.example'], [5, 'a.example']), [
    'valid',
    'invalid',
    'a.example',
    'b.example',
  ])
  t.strictSame(await found([1, 'mail.ours.example'], [50, 'mail.ours.example'], [10, 'mx.other.example']), [
    'valid',
    'valid',
  ])
  t.strictSame(await found([10, 'mx.other.example']), ['invalid', 'invalid'], 'ours competes with none')
  t.strictSame(await found([0, '']), ['invalid', 'invalid'], 'the null MX')
  t.strictSame(await found([10, 'mail.ours.example.other.example']), ['invalid', 'invalid'])
})

t.test('DKIM: the key counts, not the text', async t => {
  const key = publicKeyBase64
  for (const text of [
    `p=${key}`,
    `v=DKIM1;p=${key};`,
    `v=DKIM1; k=rsa; t=s; n=a note; p=${key}`,
    `v=DKIM1; k=rsa; h=sha1:sha256; s=email; p=${key.slice(0, 100)} ${key.slice(100)}`,
  ]) {
    t.equal(await dkim(text), 'valid', text)
  }
  t.equal(await dkim([`v=DKIM1; p=${key.slice(0, 200)}`, key.slice(200)]), 'valid', 'in pieces')
  for (const text of [
    `v=DKIM1; p=${another}`,
    'v=DKIM1; p=',
    `v=DKIM1; k=ed25519; p=${key}`,
    `v=DKIM1; h=sha1; p=${key}`,
    `v=DKIM1; s=other; p=${key}`,
    `v=DKIM2; p=${key}`,
    `v=DKIM1; p=${key.slice(0, -4)}`,
    'something else',
  ]) {
    t.equal(await dkim(text), 'invalid', text)
  }
  t.equal(await dkim(`p=${key}`, `p=${another}`), 'invalid', 'a verifier takes either')
  const alias = await check({
    [dkimName]: { CNAME: ['key.elsewhere.example'] },
    'key.elsewhere.example': { TXT: [`p=${key}`] },
  })
  t.equal(alias.records.dkim, 'valid', 'by a CNAME')
})

t.test('SPF: what it evaluates to for our addresses', async t => {
  t.equal(await spf('v=spf1 ip4:192.0.2.0/24 -all'), 'valid')
  t.equal(await spf('V=SPF1 a:mail.ours.example ~all'), 'valid')
  t.equal(
    await spf('v=spf1 mx -all', {
      'bounce.theirs.example': { ...mx([10, 'mail.ours.example']), TXT: ['v=spf1 mx -all'] },
    }),
    'valid',
  )
  const included = { 'spf.other.example': { TXT: ['v=spf1 a:mail.ours.example -all'] } }
  t.equal(await spf('v=spf1 ip4:203.0.113.9 include:spf.other.example -all', included), 'valid')
  t.equal(await spf('v=spf1 redirect=spf.other.example', included), 'valid')
  t.equal(await spf('v=spf1 ip4:192.0.2.1 -all'), 'invalid', 'one of two addresses')
  t.equal(
    await spf('v=spf1 ip4:192.0.2.1 -all', {}, { ipv4: ['192.0.2.1'] }),
    'valid',
    'the one that mail leaves from',
  )
  t.equal(await spf('v=spf1 ip4:192.0.2.0/24 -all', {}, { useIpv6: true }), 'invalid', 'not over IPv6')
  t.equal(await spf('v=spf1 ip4:192.0.2.0/24 -all', {}, { useIpv6: true, ipv6: ['2001:db8::9'] }), 'invalid')
  t.equal(await spf('v=spf1 -all'), 'invalid')
  t.equal(await spf('v=spf1 ?all'), 'invalid')
  t.equal(await spf('v=spf1 nonsense -all'), 'invalid')
  t.equal(await spf('v=spf10 +all'), 'missing')
  t.equal(
    (await txt('bounce.theirs.example', 'v=spf1 +all', 'v=spf1 +all')).records.spf,
    'invalid',
    'two of them',
  )
  t.equal(
    await spf('v=spf1 a:mail.ours.example -all', { 'mail.ours.example': { TXT: ['no address'] } }),
    'invalid',
  )
  const unknown = await check(
    { 'bounce.theirs.example': { TXT: ['v=spf1 include:spf.other.example -all'] } },
    {},
    ['spf.other.example'],
  )
  t.equal(unknown.records.spf, undefined)
})

t.test('DMARC: any policy, its own or inherited', async t => {
  const at = (name: string, ...texts: string[]) => ({ [`_dmarc.${name}`]: { TXT: texts } })
  t.equal(await dmarc(at('theirs.example', 'v=DMARC1; p=reject; rua=mailto:x@theirs.example')), 'valid')
  t.equal(await dmarc(at('theirs.example', 'another text', 'v=DMARC1;p=none')), 'valid')
  t.equal(await dmarc(at('example', 'v=DMARC1; p=quarantine')), 'valid')
  t.equal(await dmarc(at('theirs.example', 'v=DMARC1; p=none', 'v=DMARC1; p=reject')), 'invalid')
  t.equal(await dmarc(at('theirs.example', 'p=none')), 'invalid')
  t.equal(
    await dmarc(at('theirs.example', 'v=DMARC1; p=none; rua=mailto:a@x.example; rua=mailto:b@x.example')),
    'invalid',
  )
})

t.test('what DNS does not answer is not known', async t => {
  const everything = ['theirs.example', dkimName, 'bounce.theirs.example', '_dmarc.theirs.example']
  t.strictSame(await check({}, {}, everything), {
    records: { mx: undefined, dkim: undefined, 'return-path': undefined, spf: undefined, dmarc: undefined },
    competingHosts: undefined,
  })
  const some = await check({ 'theirs.example': mx([10, 'mail.ours.example']) }, {}, [dkimName])
  t.match(some.records, { mx: 'valid', dkim: undefined, spf: 'missing' })
})

t.test('MTA-STS: the id of our policy, and the host of it a name of ours', async t => {
  const sts = async (zone: Record<string, DnsRecords>) => {
    const server = await startDns(zone)
    const dns = createDns({ servers: [server.server], timeoutMs: 5000 })
    try {
      const { records } = await checkDomain({ ...names, stsId: 'abc1' }, { dns, clock: systemClock, sources })
      return [records['mta-sts'], records['mta-sts-host']]
    } finally {
      await server.close()
    }
  }
  const zone = (id: string, host: string): Record<string, DnsRecords> => ({
    '_mta-sts.theirs.example': { TXT: [`v=STSv1; id=${id};`] },
    'mta-sts.theirs.example': { CNAME: [host] },
  })
  t.strictSame(await sts({}), ['missing', 'missing'])
  t.strictSame(await sts(zone('abc1', 'Mail.Ours.example')), ['valid', 'valid'])
  t.strictSame(await sts(zone('abc2', 'mail.other.example')), ['invalid', 'invalid'])
})
