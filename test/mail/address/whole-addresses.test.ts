import t from 'tap'
import {
  baseAddress,
  domainOf,
  literalAddress,
  normaliseAddress,
  normaliseDomain,
  normaliseRecipient,
  parseAddress,
  writtenAddress,
} from '../../../lib/mail/address/address.ts'
import { mailDomainOf } from '../../../lib/mail/address/bounce-domain.ts'
import { isRewritten, rewriteSender } from '../../../lib/mail/address/srs.ts'
import { parseVerp } from '../../../lib/mail/address/verp.ts'
import { type Facts, sameFacts } from '../../support/kept-facts.ts'

const label = (length: number) => 'd'.repeat(length)
/** A domain of that many bytes, in labels of at most 63. */
const long = (length: number) => {
  const labels: string[] = []
  for (let left = length; left > 0; left -= 64) labels.push(label(Math.min(left, 63)))
  return labels.join('.')
}

const localParts = [
  ...['ann', 'Ann.Lee', 'ann+tag', '+tag', 'ann+a+b', '.ann', 'ann.', 'a..b', 'a b', ''],
  ...['"ann"', '"Ann Lee"', '"a\\"b"', '"a\\\\b"', '"a\\nb"', '"a"b"', '"', '""', '"a+b c"', '"a@b"', 'a@b'],
  ...[
    "!#$%&'*+/=?^_`{|}~-",
    'é',
    'É',
    'e\u0301',
    '\u212a',
    '\u037e',
    '\u1fef',
    '"é "',
    'a\u00a0b',
    'a\u2028b',
  ],
  ...['a\u0080', 'a\ud800', '\u{1f600}', '\u{10ffff}', 'a\0', '"a\t"', '(c)a', '<a'],
  ...[63, 64, 65].map(length => 'x'.repeat(length)),
  ...[31, 32, 33].map(length => 'é'.repeat(length)),
  ...[62, 63, 64, 65].map(length => `"${'x '.repeat(length / 2)}"`),
]

const domains = [
  ...['example.com', 'EXAMPLE.com', 'example', 'example.com.', '.example.com', 'a..b', '', 'a b.c', 'a_b.c'],
  ...['-a.com', 'a-.com', 'a-b.com', '1.com', 'a.1', '192.0.2.1', 'a.1b', 'ex%61mple.com', 'a/b.com'],
  ...[
    'bücher.example',
    'BÜCHER.example',
    'xn--bcher-kva.example',
    'xn--a.example',
    'a.xn--b',
    'xn--',
    'ß.de',
  ],
  ...[
    'axn--b.example',
    '例え.jp',
    'a。b',
    '\u00ad.com',
    'bounce.example.com',
    'Bounce.Example.com',
    'bounce.',
  ],
  ...[
    '[192.0.2.1]',
    '[192.0.2.256]',
    '[192.0.2.1',
    '192.0.2.1]',
    '[IPv6:2001:DB8::1]',
    '[2001:db8::1]',
    '[]',
  ],
  ...['[ipv6:192.0.2.1]', '[ipv6:::ffff:192.0.2.1]', '[ipv6:::]', '[ipv6:1]', '[x]', '[1]', '[192.0.2.1]x'],
  ...[62, 63, 64].map(length => `${label(length)}.example`),
  ...[188, 189, 190, 248, 249, 250, 251, 252, 253, 254, 255, 256].map(long),
]

/** Of what is repeated the number: lengths are what is asked for. */
const short = (text: string) =>
  text.replace(/(.{1,2}?)\1{9,}/gu, (all, one: string) => `${one}{${all.length / one.length}}`)

function saidOf(address: string) {
  const { localPart, domain } = parseAddress(address) ?? {}
  const all = {
    localPart,
    domain,
    written: writtenAddress(address),
    normal: normaliseAddress(address),
    recipient: normaliseRecipient(address),
    base: baseAddress(address),
    behind: domainOf(address),
    literal: domain && literalAddress(domain),
  }
  // Most are said as they were asked, which is `same`.
  return Object.fromEntries(
    Object.entries(all).flatMap(([key, one]) =>
      one === undefined ? [] : [[key, one === address ? 'same' : short(one)]],
    ),
  )
}

t.test('all that is said of each local part and each domain', async t => {
  const parts = localParts.flatMap(one => [`${one}@example.com`, `${one}@${long(188)}`, one])
  const whole = domains.flatMap(one => [`ann@${one}`, `${'x'.repeat(64)}@${one}`])
  const lengths = [60, 61, 62, 63, 64].flatMap(local =>
    [187, 188, 189, 190, 191].map(length => `${'x'.repeat(local)}@${long(length)}`),
  )
  const asked = [...new Set([...parts, ...whole, ...lengths])]
  const facts: Facts[] = [
    ...asked.map((one): Facts => [short(JSON.stringify(one)), saidOf(one)]),
    ...[...new Set(domains)].map(
      (one): Facts => [`the domain ${short(JSON.stringify(one))}`, [normaliseDomain(one), mailDomainOf(one)]],
    ),
  ]
  sameFacts(t, 'addresses', facts)
})

t.test('each reverse-path that is made of a sender, and known again', async t => {
  const senders = [
    ...[
      'ann@example.net',
      'Ann.Lee@Example.NET',
      '"a b"@example.net',
      'a%b@example.net',
      'a!b@example.net',
      'ann',
    ],
    ...[
      '@example.net',
      'a..b@example.net',
      'a@b@c',
      'é@example.net',
      'a=b+c_d-e@example.net',
      'a@[192.0.2.1]',
    ],
    ...[32, 33, 34, 35, 36, 37, 38].map(length => `${'x'.repeat(length)}@example.net`),
  ]
  const days = [0, 1, 31, 32, 33, 1023, 1024, 20_000].map(day => day * 86_400_000)
  const at = [...days, 86_399_999, 20_001 * 86_400_000 - 1]
  const made = (sender: string, time: number, purpose = 'one') =>
    rewriteSender({ secret: 'secret', purpose, sender, domain: 'example.com', at: new Date(time) })
  const known = [
    ...[
      'srs0=a@bounce.example.com',
      'SRS0=A@BOUNCE.example.com',
      'srs0=@bounce.a',
      'xsrs0=a@bounce.a',
      'srs0=a@b.bounce.a',
    ],
    ...[23, 24, 25].flatMap(length => [
      `b-${'0a'.repeat(13).slice(0, length)}@bounce.a`,
      `B-${'Z'.repeat(length)}@Bounce.A`,
    ]),
    ...[`xb-${'0'.repeat(24)}@bounce.a`, `b-${'0'.repeat(24)}@other.a`, 'ann@example.com', ''],
  ]
  sameFacts(t, 'reverse-paths', [
    ...senders.map((one): Facts => [`of ${one}`, [made(one, days[7]!), made(one, days[7]!, 'two')]]),
    ...at.map((one): Facts => [`at ${one}`, made('ann@example.net', one)]),
    ...known.map((one): Facts => [`known: ${one}`, [isRewritten(one), parseVerp(one)]]),
  ])
})
