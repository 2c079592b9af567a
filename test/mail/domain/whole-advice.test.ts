import t from 'tap'
import { recordFoundLength } from '../../../lib/base/lengths.ts'
import { adviseDomain } from '../../../lib/mail/domain/advice.ts'
import { adviseDnssec, type ZoneSigning } from '../../../lib/mail/domain/dnssec-advice.ts'
import { checkHost } from '../../../lib/mail/domain/host.ts'
import type { FetchPolicy } from '../../../lib/mail/domain/transport-advice.ts'
import { dkimRecordLength } from '../../../lib/mail/signature/key.ts'
import { type Facts, sameFacts } from '../../support/kept-facts.ts'
import { zoneDns } from './zone-dns.ts'

/** Public keys of RSA, by their bits; nobody has their other halves. */
const weakKey =
  'MFwwDQYJKoZIhvcNAQEBBQADSwAwSAJBAMtlzxibmTg5FM1nOt5FNUcCar+9UeJ14gn7M81sDKX4tkAPHLyp4zF9JApKUrFwxFZN0rJoZclH+Pqlu4hdAXsCAwEAAQ=='
const leastKey =
  'MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDkHsihwZhAwQTFyzs2PwrEi6wVCc6u5BpM81mE5ZXCWBenkTl3jy73nMBfCdzG8L8vP3TK+RmZ1sb5XD97uYyGzvjcohXGo/oEPYMFQ2bij3Ja7fB6Qae2ORlK4u8mVxo9yI8zjJl/lFksUKCs0hg15sbtmLSkNYvPRw8wn1Bt+wIDAQAB'
const ourKey =
  'MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAxkoQUhVFoIYHDHA+DCDNp+ywa/k9irDMa+dZ7Vfs/rqNDn6YhwtaOayussIXDofGrl0oAWLYynoYKFCO+OjMpiMhOaKe1WxyNIMrUB37iuVbfLHB0E6kEuki7D2BBwlUr4umAJWKD5p9qJjNOF7vyq/YPXV2Ea9Rktol5eBAfQRZzCJ2QaOBK255ZYqofkncT+MR9wPrrFghgorHdBef97cQq+YXXa6Eiw7vVyeTs6+w7s387AmlqVAwTSdnTi+C382JRjbOknVOXNKu8LvNmu5xy+b+3zRdzPRnldBq1CmkzcIKPDMp9VavJw06Wa384B25vZy8rRVoELT2wuQLNwIDAQAB'

const domain = 'theirs.example'
const hostname = 'mail.ours.example'
const keyName = `mailboxd._domainkey.${domain}`
const names = { domain, hostname, selector: 'mailboxd', publicKeyBase64: ourKey }
const letsEncrypt = 'https://acme-v02.api.letsencrypt.org/directory'

type Zone = Parameters<typeof zoneDns>[0]

const texts = (...all: readonly string[]) => all.map(TXT => ({ TXT }))
const policy = (mode: string, ...mx: readonly string[]) =>
  ['version: STSv1', `mode: ${mode}`, ...mx.map(name => `mx: ${name}`), 'max_age: 86400', ''].join('\r\n')

/** Of a domain about which nothing is to be said. */
const good: Zone = {
  [hostname]: [{ A: '192.0.2.1' }, { TXT: 'v=spf1 a -all' }],
  [domain]: [{ MX: [10, hostname] }, { TXT: `v=spf1 a:${hostname} -all` }],
  [`bounce.${domain}`]: [{ MX: [10, hostname] }, { TXT: `v=spf1 a:${hostname} -all` }],
  [keyName]: texts(`v=DKIM1; k=rsa; p=${ourKey}`),
  [`_dmarc.${domain}`]: texts('v=DMARC1; p=none'),
  [`_mta-sts.${domain}`]: texts('v=STSv1; id=1'),
  [`_smtp._tls.${domain}`]: texts('v=TLSRPTv1; rua=mailto:tls@theirs.example'),
}

interface Case {
  readonly zone?: Zone
  readonly caa?: Readonly<Record<string, readonly object[] | 'TIMEOUT'>>
  readonly directory?: string | undefined
  readonly fetched?: Awaited<ReturnType<FetchPolicy>>
  readonly ipv4?: readonly string[]
}

/** All that is advised where these names stand otherwise than in a domain that is well. */
async function advice({ zone = {}, caa = {}, ...more }: Case = {}) {
  const { resolve } = zoneDns({ ...good, ...zone })
  const authorities: NonNullable<Case['caa']> = {
    [hostname]: [{ critical: 0, issue: 'letsencrypt.org' }],
    ...caa,
  }
  const lookup = async (name: string, type: string) => {
    if (type !== 'CAA') return resolve(name, type)
    const records = authorities[name] ?? []
    if (records === 'TIMEOUT') throw Object.assign(new Error('late'), { code: 'ETIMEOUT' })
    return [...records]
  }
  return adviseDomain(names, {
    lookup,
    sources: { ipv4: more.ipv4 ?? [], ipv6: [], useIpv6: false },
    acmeDirectory: 'directory' in more ? more.directory : letsEncrypt,
    fetchPolicy: async () => more.fetched ?? { text: policy('enforce', hostname) },
  })
}

const mx = (...hosts: readonly (readonly [number, string])[]): Case => ({
  zone: { [domain]: [...hosts.map(MX => ({ MX })), ...texts(`v=spf1 a:${hostname} -all`)] },
})
const dkim = (...all: readonly string[]): Case => ({ zone: { [keyName]: texts(...all) } })
const dmarc = (zone: Zone, ...all: readonly string[]): Case => ({
  zone: { [`_dmarc.${domain}`]: texts(...all), ...zone },
})
const spf = (...all: readonly string[]): Case => ({
  zone: {
    [hostname]: [{ A: '192.0.2.1' }, ...texts(...all)],
    [domain]: [{ MX: [10, hostname] }, ...texts(...all)],
    [`bounce.${domain}`]: [{ MX: [10, hostname] }, ...texts(...all)],
  },
})
const sts = (fetched: Case['fetched'], ...all: readonly string[]): Case => ({
  zone: { [`_mta-sts.${domain}`]: texts(...all) },
  ...(fetched && { fetched }),
})
const tls = (...all: readonly string[]): Case => ({ zone: { [`_smtp._tls.${domain}`]: texts(...all) } })
const many = (count: number, one: (index: number) => string) =>
  Array.from({ length: count }, (_, at) => one(at))

const cases: Readonly<Record<string, Case>> = {
  'all is well': {},
  'nothing is there': {
    zone: Object.fromEntries(Object.keys(good).map(name => [name, []])),
    caa: { [hostname]: [] },
  },
  'nothing answers': {
    zone: Object.fromEntries(Object.keys(good).map(name => [name, ['TIMEOUT']])),
    caa: { [hostname]: 'TIMEOUT' },
  },
  'MX: another before ours': mx([5, 'other.example.'], [10, hostname]),
  'MX: another beside ours': mx([10, 'Other.Example'], [10, `${hostname}.`]),
  'MX: another behind ours': mx([11, 'other.example'], [10, hostname]),
  'MX: on each side, and ours twice': mx(
    ...([
      [5, 'b.example'],
      [5, 'a.example'],
      [10, 'c.example'],
      [20, 'd.example'],
    ] as const),
    ...([
      [10, hostname],
      [30, hostname],
      [5, 'a.example'],
    ] as const),
  ),
  'MX: more than are named': mx(
    [10, hostname],
    ...many(25, index => `mx${index}.example`).map(host => [1, host] as const),
  ),
  'MX: without ours': mx([10, 'other.example']),
  'DKIM: two records': dkim(`p=${ourKey}`, `p=${leastKey}`),
  'DKIM: revoked': dkim('v=DKIM1; p='),
  'DKIM: a record without a key': dkim('v=DKIM1; k=rsa'),
  'DKIM: ours with spaces': dkim(`p=${ourKey.slice(0, 50)} ${ourKey.slice(50)}`),
  'DKIM: cut off': dkim(`v=DKIM1; p=${ourKey.slice(0, 240)}`),
  'DKIM: all but the last': dkim(`p=${ourKey.slice(0, -1)}`),
  'DKIM: no key': dkim('p=AAAA'),
  'DKIM: of 512 bits': dkim(`p=${weakKey}`),
  'DKIM: of 1024 bits': dkim(`p=${leastKey}`),
  'DKIM: a key that is as long as is looked at': dkim(
    `p=${leastKey}${'A'.repeat(dkimRecordLength - leastKey.length)}`,
  ),
  'DKIM: a key that is longer': dkim(`p=${weakKey}${'A'.repeat(dkimRecordLength - weakKey.length + 1)}`),
  'DMARC: two policies': dmarc({}, 'v=DMARC1; p=none', 'v=DMARC1; p=reject'),
  'DMARC: two, the first too long to show': dmarc(
    {},
    `v=DMARC1; p=none; rua=mailto:${'a'.repeat(recordFoundLength)}@x.example`,
    'v=DMARC1; p=reject',
  ),
  'DMARC: one beside another text': dmarc({}, 'hello', 'V=dmarc1; p=none'),
  'DMARC: reports to itself, below and above': dmarc(
    {},
    'v=DMARC1; p=none; rua=mailto:a@theirs.example, mailto:b@in.theirs.example; ruf=mailto:c@example',
  ),
  'DMARC: reports to others, who take them and do not': dmarc(
    {
      [`${domain}._report._dmarc.takes.example`]: texts('v=DMARC1'),
      [`${domain}._report._dmarc.other.example`]: texts('v=DMARC2'),
      [`${domain}._report._dmarc.late.example`]: ['TIMEOUT'],
    },
    'v=DMARC1; p=none; rua=mailto:a@Takes.example.,mailto:a@other.example,https://no.example; ruf=mailto:a@late.example!10m,mailto:b@none.example,mailto:b@other.example',
  ),
  'DMARC: reports to more than are asked': dmarc(
    {},
    `v=DMARC1; rua=${many(12, index => `mailto:a@r${index}.example`).join(',')}`,
  ),
  'SPF: none': spf('another text'),
  'SPF: two': spf('v=spf1 ip4:203.0.113.9 -all', `v=spf1 a:${hostname} -all`),
  'SPF: two, of which none passes': spf('v=spf1 ip4:203.0.113.9 -all', 'v=spf1 -all'),
  'SPF: two, for which no address is known': {
    ...spf('v=spf1 -all', `v=spf1 a:${hostname} -all`),
    zone: { ...spf('v=spf1 -all', `v=spf1 a:${hostname} -all`).zone, [hostname]: [] },
  },
  'SPF: +all': spf('v=spf1 ip4:203.0.113.9 +all'),
  'SPF: all': spf('v=spf1 ALL'),
  'SPF: +all of a record that is too long to show': spf(`v=spf1 ${'ip4:203.0.113.9 '.repeat(40)}+all`),
  'SPF: all in a name': spf('v=spf1 a:all.example -all'),
  'SPF: fails': spf('v=spf1 ip4:203.0.113.9 -all'),
  'SPF: fails softly, of two addresses': {
    ...spf('V=SPF1 ip4:203.0.113.9 ~all'),
    ipv4: ['192.0.2.7', '203.0.113.9', '192.0.2.8'],
  },
  'SPF: is neutral': spf('v=spf1 ?all'),
  'SPF: not to be understood': spf('v=spf1 ip4:300.1.2.3 -all'),
  'SPF: too many look-ups': spf(`v=spf1 ${many(11, index => `a:a${index}.example`).join(' ')} -all`),
  'SPF: of a name that does not answer': {
    ...spf('v=spf1 a:late.example -all'),
    zone: { ...spf('v=spf1 a:late.example -all').zone, 'late.example': ['TIMEOUT'] },
  },
  'MTA-STS: two records': sts(undefined, 'v=STSv1; id=1', 'v=STSv1; id=2'),
  'MTA-STS: without an id': sts(undefined, 'v=STSv1;'),
  'MTA-STS: none, but a text': sts(undefined, 'v=STSv2; id=1'),
  'MTA-STS: not to be had': sts({ error: 'the certificate\r\nis over' }, 'v=STSv1; id=1'),
  'MTA-STS: no policy': sts({ text: '<html>' }, 'v=STSv1; id=1'),
  'MTA-STS: another host, enforced': sts({ text: policy('enforce', 'other.example') }, 'v=STSv1; id=1'),
  'MTA-STS: another host, testing': sts({ text: policy('testing', '*.example') }, 'v=STSv1; id=1'),
  'MTA-STS: a pattern with ours in it': sts({ text: policy('enforce', '*.ours.example') }, 'v=STSv1; id=1'),
  'MTA-STS: none any more': sts({ text: policy('none') }, 'v=STSv1; id=1'),
  'TLS reports: two': tls('v=TLSRPTv1; rua=mailto:a@b.example', 'v=TLSRPTv1; rua=mailto:c@b.example'),
  'TLS reports: without an address': tls('v=TLSRPTv1; rua=b.example'),
  'TLS reports: by https': tls('v=TLSRPTv1; rua=https://b.example/', 'another text'),
  'TLS reports: another text': tls('v=TLSRPTv2; rua=mailto:a@b.example'),
  'CAA: others alone': { caa: { [hostname]: [{ issue: 'other.example' }] } },
  'CAA: others alone, above': { caa: { [hostname]: [], 'ours.example': [{ issue: 'other.example; a=b' }] } },
  'CAA: ours among others, with parameters': {
    caa: { [hostname]: [{ issue: 'other.example' }, { issue: ' LetsEncrypt.org ; accounturi=x' }] },
  },
  'CAA: nobody': { caa: { [hostname]: [{ issue: ';' }] } },
  'CAA: of wildcards alone': { caa: { [hostname]: [{ issuewild: 'other.example' }] } },
  'CAA: the closest counts': {
    caa: { [hostname]: [{ issue: 'letsencrypt.org' }], 'ours.example': [{ issue: 'other.example' }] },
  },
  'CAA: of the top': { caa: { [hostname]: [], example: [{ issue: 'other.example' }] } },
  'CAA: no directory': { caa: { [hostname]: [{ issue: 'other.example' }] }, directory: undefined },
  'CAA: missing, no directory': { caa: { [hostname]: [] }, directory: undefined },
  'CAA: missing, another directory': {
    caa: { [hostname]: [] },
    directory: 'https://acme.zerossl.com/v2/DV90',
  },
  'CAA: missing, a directory that is not known': {
    caa: { [hostname]: [] },
    directory: 'https://ca.example/',
  },
  'CAA: no answer above': { caa: { [hostname]: [], 'ours.example': 'TIMEOUT' } },
}

t.test('all that is advised about the DNS of a domain', async t => {
  const all: Facts[] = []
  for (const [title, one] of Object.entries(cases)) all.push([title, await advice(one)])
  sameFacts(t, 'domain-advice', all)
})

const reverse = '1.2.0.192.in-addr.arpa'
const hosts: Readonly<
  Record<string, readonly [Zone, isOwn?: readonly string[], otherNodes?: number, name?: string]>
> = {
  'leads here and back': [{ [hostname]: [{ A: '192.0.2.1' }], [reverse]: [{ PTR: 'Mail.Ours.example.' }] }],
  'leads here by both families': [
    {
      [hostname]: [{ A: '192.0.2.1' }, { AAAA: '2001:db8::1' }],
      [reverse]: [{ PTR: 'a.example' }, { PTR: hostname }],
      [`1.${'0.'.repeat(23)}8.b.d.0.1.0.0.2.ip6.arpa`]: [{ PTR: 'b.example' }],
    },
  ],
  'no PTR': [{ [hostname]: [{ A: '192.0.2.1' }] }],
  'a PTR without an answer': [{ [hostname]: [{ A: '192.0.2.1' }], [reverse]: ['TIMEOUT'] }],
  'more PTRs than are named': [
    {
      [hostname]: [{ A: '192.0.2.1' }],
      [reverse]: many(5, index => `${'p'.repeat(60)}.${'q'.repeat(60)}.${index}.example`).map(PTR => ({
        PTR,
      })),
    },
  ],
  'no address': [{ [hostname]: texts('text') }],
  'no answer': [{ [hostname]: ['TIMEOUT'] }],
  'no such name': [{}],
  'an alias': [
    {
      [hostname]: [{ CNAME: 'vm.host.example' }],
      'vm.host.example': [{ A: '192.0.2.1' }],
      [reverse]: [{ PTR: hostname }],
    },
  ],
  'leads elsewhere': [{ [hostname]: [{ A: '192.0.2.1' }] }, []],
  'leads elsewhere, beside a node': [{ [hostname]: [{ A: '192.0.2.1' }] }, [], 1],
  'leads here and to the other node': [
    { [hostname]: [{ A: '192.0.2.1' }, { A: '192.0.2.2' }], [reverse]: [{ PTR: hostname }] },
    ['192.0.2.1'],
    1,
  ],
  'leads here and to one of two others': [
    { [hostname]: [{ A: '192.0.2.1' }, { A: '192.0.2.2' }], [reverse]: [{ PTR: hostname }] },
    ['192.0.2.1'],
    2,
  ],
  'leads here and elsewhere': [
    { [hostname]: [{ A: '192.0.2.1' }, { A: '192.0.2.2' }], [reverse]: [{ PTR: hostname }] },
    ['192.0.2.1'],
  ],
  ...Object.fromEntries(
    ['mail.local', 'localhost', 'a.home.arpa', 'a.test', 'mail.lan', 'mylan', 'home.arpa.example'].map(
      name => [`the name ${name}`, [{}, undefined, 0, name]],
    ),
  ),
}

t.test('all that is said about the name of the server', async t => {
  const all: Facts[] = []
  for (const [title, [zone, own, otherNodes = 0, name = hostname]] of Object.entries(hosts)) {
    const said = await checkHost(name, zoneDns(zone).resolve, {
      ownRecords: async () => `${name}. 3600 IN A 192.0.2.99`,
      isForeign: address => own !== undefined && !own.includes(address),
      otherNodes,
    })
    all.push([title, said])
  }
  sameFacts(t, 'host-advice', all)
})

const now = new Date('2026-01-02T00:00:00Z')
const seconds = (after: number) => now.getTime() / 1000 + after
const day = 86_400
const zoneKey = { flags: 257, algorithm: 13, key: Buffer.from('a key of a zone, of an odd length') }
const lesserKey = { flags: 256, algorithm: 13, key: Buffer.alloc(64, 0xfe) }
const signature = (covers: string, from: number, to: number) => ({
  covers,
  inception: seconds(from),
  expiration: seconds(to),
})
const lasting = [signature('DNSKEY', -day, 10 * day), signature('SOA', -day, 9 * day)]

/** The DS of a key as it is told to who has none at the zone above. */
function signerOf(key: typeof zoneKey) {
  const [told] = adviseDnssec('ours.example', { signers: [], keys: [key], signatures: [] }, now)
  const [keyTag, algorithm, digestType, digest] = told!.paste!.split(' ').slice(-4)
  return {
    ...{ keyTag: Number(keyTag), algorithm: Number(algorithm), digestType: Number(digestType) },
    digest: Buffer.from(digest!, 'hex'),
  }
}

const signer = signerOf(zoneKey)
const signings: Readonly<Record<string, Partial<ZoneSigning>>> = {
  'not signed': { signers: [], keys: [] },
  'no DS': { signers: [] },
  'no DS, a lesser key first': { signers: [], keys: [lesserKey, zoneKey] },
  'no DS, a lesser key alone': { signers: [], keys: [lesserKey] },
  'all is well': {},
  'joined by the second key': { keys: [lesserKey, zoneKey] },
  'a DS of another tag': { signers: [{ ...signer, keyTag: signer.keyTag + 1 }] },
  'a DS of another algorithm': { signers: [{ ...signer, algorithm: 8 }] },
  'a DS of a digest that is another': { signers: [{ ...signer, digestType: 4 }] },
  'a DS of a digest that nobody knows': { signers: [{ ...signer, digestType: 3 }] },
  'a DS and no keys': { keys: [] },
  'no signatures': { signatures: [] },
  'the keys are not signed': { signatures: [signature('SOA', -day, 9 * day)] },
  'over for a second': { signatures: [signature('DNSKEY', -day, -1)] },
  'ends now': { signatures: [signature('DNSKEY', -day, 0)] },
  'begins now': { signatures: [signature('DNSKEY', 0, 9 * day)] },
  'begins in a second': { signatures: [...lasting, signature('MX', 1, 9 * day)] },
  'ends in two days': { signatures: [signature('DNSKEY', -day, 2 * day)] },
  'ends in two days and a second': { signatures: [signature('DNSKEY', -day, 2 * day + 1)] },
  'the first of several ends soon': { signatures: [...lasting, signature('MX', -day, day)] },
}

t.test('all that is said about the signing of a zone', async t => {
  const of = (one: Partial<ZoneSigning>, zone = 'ours.example') =>
    adviseDnssec(zone, { signers: [signer], keys: [zoneKey], signatures: lasting, ...one }, now)
  sameFacts(t, 'dnssec-advice', [
    ...Object.entries(signings).map(([title, one]): Facts => [title, of(one)]),
    ['a name in upper case', of({}, 'Ours.EXAMPLE')],
    ['another zone', of({}, 'theirs.example')],
  ])
})
