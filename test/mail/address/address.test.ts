import t from 'tap'
import {
  baseAddress,
  domainOf,
  literalAddress,
  normaliseAddress,
  normaliseDomain,
  normaliseRecipient,
  parseAddress,
} from '../../../lib/mail/address/address.ts'

const label63 = 'a'.repeat(63)
const local64 = 'a'.repeat(64)

t.test('addresses', async t => {
  const good: readonly (readonly [string, string, string])[] = [
    ['ann@example.com', 'ann', 'example.com'],
    ['Ann.Smith+news@Example.COM', 'Ann.Smith+news', 'example.com'],
    ["o'hara_!#$%&*-/=?^`{|}~@x.example", "o'hara_!#$%&*-/=?^`{|}~", 'x.example'],
    ['ann@my_host.peer.example', 'ann', 'my_host.peer.example'],
    ['"john"@example.com', 'john', 'example.com'],
    ['"jo\\hn"@example.com', 'john', 'example.com'],
    ['"a b"@example.com', '"a b"', 'example.com'],
    ['"a@b"@example.com', '"a@b"', 'example.com'],
    ['"a\\"\\\\b"@example.com', '"a\\"\\\\b"', 'example.com'],
    ['""@example.com', '""', 'example.com'],
    ['用户@例子.广告', '用户', 'xn--fsqu00a.xn--4rr70v'],
    ['ann@BÜCHER.example', 'ann', 'xn--bcher-kva.example'],
    ['ann@例子。广告', 'ann', 'xn--fsqu00a.xn--4rr70v'],
    ['root@localhost', 'root', 'localhost'],
    ['ann@[192.0.2.1]', 'ann', '[192.0.2.1]'],
    ['ann@[IPv6:2001:DB8:0::1]', 'ann', '[ipv6:2001:db8::1]'],
    ['"a b"@[ipv6:::]', '"a b"', '[ipv6:::]'],
    [`${local64}@${label63}.example`, local64, `${label63}.example`],
  ]
  for (const [text, localPart, domain] of good) t.same(parseAddress(text), { localPart, domain }, text)
})

t.test('what is none', async t => {
  const bad = [
    '',
    '@',
    'ann',
    'ann@',
    '@example.com',
    'ann@@example.com',
    '.ann@example.com',
    'ann.@example.com',
    'a..b@example.com',
    'a b@example.com',
    ' ann@example.com',
    'ann@example.com ',
    'ann@example.com\r\n',
    'ann\0@example.com',
    '"ann@example.com',
    '"a"b@example.com',
    '"a\r\nb"@example.com',
    '<ann@example.com>',
    'Ann <ann@example.com>',
    'ann@example.com,bob@example.com',
    'ann@192.0.2.1',
    'ann@[192.0.2.1',
    'ann@192.0.2.1]',
    'ann@[192.0.2.1].example',
    'ann@[]',
    'ann@[192.0.2]',
    'ann@[192.0.2.256]',
    'ann@[0300.0.2.1]',
    'ann@[192.0.2.01]',
    'ann@[ 192.0.2.1]',
    'ann@[2001:db8::1]',
    'ann@[IPv6:192.0.2.1]',
    'ann@[IPv6:2001:db8::1%eth0]',
    'ann@[IPv6:2001:db8:::1]',
    'ann@[IPv6:]',
    'ann@[x-tag:content]',
    'ann@[there.example]',
    'ann@１９２.0.2.1',
    'ann@example.123',
    'ann@exa+mple.com',
    'ann@-example.com',
    'ann@example-.com',
    'ann@example..com',
    'ann@example.com.',
    'ann@ex%61mple.com',
    'ann@xn--trusted-oka.com',
    'ann@xn--rusted-h168a.com',
    'ann@mail.xn--abc.com',
    'ann@bücher/x.example',
    'ann@bü cher.example',
    'ann@b\u00fccher\u2028.example',
    'a\u00a0b@example.com',
    '"a\u2028b"@example.com',
    '\ud800@example.com',
    `${local64}a@example.com`,
    `${'ä'.repeat(33)}@example.com`,
    `ann@${label63}a.example`,
    `ann@${`${label63}.`.repeat(4)}example`,
    `${local64}@${`${'b'.repeat(47)}.`.repeat(4)}example`,
    'a'.repeat(1_000_000),
    `"${'\\'.repeat(200)}@example.com`,
  ]
  for (const text of bad)
    t.equal(parseAddress(text), undefined, JSON.stringify(text.slice(0, 60)).replace(/[^ -~]/g, '?'))
})

t.test('one form to compare', async t => {
  t.equal(normaliseAddress('Ann.Smith@BÜCHER.Example'), 'ann.smith@xn--bcher-kva.example')
  t.equal(normaliseAddress('"Ann"@example.com'), 'ann@example.com')
  t.equal(
    normaliseAddress('a\u0308@example.com'),
    normaliseAddress('Ä@example.com'),
    'composed and decomposed',
  )
  t.equal(normaliseAddress('Ann@[IPv6:2001:0DB8:0:0:0:0:0:1]'), 'ann@[ipv6:2001:db8::1]')
  t.equal(normaliseRecipient('Ann@[IPv6:2001:DB8::1]'), 'ann@[ipv6:2001:db8::1]')
  t.equal(normaliseRecipient('ann@localhost'), undefined)
  t.equal(normaliseAddress('nonsense'), undefined)
  t.equal(normaliseDomain('EXAMPLE.com'), 'example.com')
  t.equal(normaliseDomain('xn--bcher-kva.example'), 'xn--bcher-kva.example')
  t.equal(normaliseDomain('straße.example'), 'xn--strae-oqa.example')
  for (const text of ['', '.', 'a.', '10.0.0.1', 'a b', 'http://x', 'x:25'])
    t.equal(normaliseDomain(text), undefined, text)
})

t.test('parts of an address', async t => {
  t.equal(domainOf('ann@Example.com'), 'example.com')
  t.equal(domainOf('"a@b"@example.com'), 'example.com')
  t.equal(domainOf('ann@[IPv6:2001:db8::1]'), '[ipv6:2001:db8::1]')
  t.equal(literalAddress('[ipv6:2001:db8::1]'), '2001:db8::1')
  t.equal(literalAddress('[192.0.2.1]'), '192.0.2.1')
  t.equal(literalAddress('example.com'), undefined)
  t.equal(baseAddress('ann+tag+more@example.com'), 'ann@example.com')
  t.equal(baseAddress('ann@a+b.example'), 'ann@a+b.example')
  t.equal(baseAddress('+tag@example.com'), '+tag@example.com')
  t.equal(baseAddress('"a+b c"@example.com'), '"a+b c"@example.com')
})

t.test('no letter outside ASCII is one of ASCII where addresses are compared', async t => {
  for (let code = 0x80; code <= 0x10ffff; code++) {
    const letter = String.fromCodePoint(code)
    const address = normaliseAddress(`x${letter}x@example.com`)
    if (address !== undefined && /^[\0-\x7f]*$/.test(address)) t.fail(`U+${code.toString(16)} is ${address}`)
  }
  t.equal(normaliseAddress('fran\u212a@example.com'), undefined)
})

t.test('a path has 256 octets with its brackets (RFC 5321 section 4.5.3.1.3)', async t => {
  const local = 'l'.repeat(64)
  const domainOf = (bytes: number) =>
    `${`${'d'.repeat(59)}.`.repeat(3)}${'d'.repeat(bytes - 180 - 8)}.example`
  const longest = `${local}@${domainOf(189)}`
  t.equal(longest.length, 254)
  t.ok(parseAddress(longest))
  t.equal(parseAddress(`${local}@${domainOf(190)}`), undefined)
  t.equal(parseAddress(`${local}l@d.example`), undefined, 'and its local part 64')
})
