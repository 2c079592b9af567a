import t from 'tap'
import {
  baseAddress,
  domainOf,
  literalAddress,
  normaliseAddress,
  normaliseDomain,
  normaliseMailDomain,
  normaliseRecipient,
  parseAddress,
  writtenAddress,
} from '../../../lib/mail/address/address.ts'
import { isRewritten, rewriteSender } from '../../../lib/mail/address/srs.ts'
import { formatVerp, parseVerp } from '../../../lib/mail/address/verp.ts'
import { readAddressList } from '../../../lib/mail/header/address-list.ts'
import { readAuthor, shownAuthor } from '../../../lib/mail/header/author.ts'
import { decodeText, fromLatin1, isSaid, markupCharset } from '../../../lib/mail/header/charset.ts'
import { loadCharsetGuess } from '../../../lib/mail/header/charset-guess.ts'
import { parseDate } from '../../../lib/mail/header/date.ts'
import { decodeWords } from '../../../lib/mail/header/encoded-word.ts'
import { countReceived, findHeaderFault, readHeader } from '../../../lib/mail/header/header.ts'
import { listedAddresses, mailboxes, readMailbox, writeMailbox } from '../../../lib/mail/header/mailbox.ts'
import { cutChain, readMessageIds, readReferences } from '../../../lib/mail/header/message-id.ts'
import { readParameters } from '../../../lib/mail/header/parameters.ts'
import { decodeQuotedPrintable } from '../../../lib/mail/header/quoted-printable.ts'
import { headerAddress, messageIds, singleLine } from '../../../lib/mail/header/text.ts'
import { decodeUtf7 } from '../../../lib/mail/header/utf-7.ts'
import { readThreadIndex } from '../../../lib/mail/message/thread-index.ts'
import { byLength, type Facts, sameFacts } from '../../support/kept-facts.ts'

const each = (what: string, inputs: readonly string[], read: (input: string) => unknown): Facts[] =>
  inputs.map(input => [`${what} ${JSON.stringify(input)}`, read(input)])

const lists = [
  '',
  ' ',
  ',',
  'ann@example.com',
  '<ann@example.com>',
  'Ann <ann@example.com>',
  'ann@example.com (Ann Lee)',
  '"Lee, Ann" <ann@example.com>, bob@example.net',
  '"a \\"b\\" c" <ann@example.com>',
  'Ann Lee ann@example.com',
  'Ann <ann@example.com> Lee',
  '<ann@example.com> Ann',
  '<<ann@example.com>>',
  'Ann <>',
  'Ann <ann>',
  'Ann <ann@example.com',
  'Ann ann@example.com>',
  'Team: ann@example.com, Bob <bob@example.net>; , carl@example.org',
  'Undisclosed recipients:;',
  'Team: ann@example.com',
  'a:b:c;',
  ':;',
  ';',
  'ann@example.com;bob@example.net',
  'ann @ example . com',
  'ann@(comment)example.com',
  'ann(comment (nested) )@example.com',
  'ann@example.com (never closed',
  'ann@example.com)',
  '"never closed <ann@example.com>',
  '"quoted local"@example.com',
  '"quoted\\ local"@example.com',
  '@relay.example:ann@example.com',
  '<@relay.example,@two.example:ann@example.com>',
  'ann@[192.0.2.1]',
  'ann@[IPv6:2001:db8::1]',
  'ann@[192.0.2.999]',
  'ann@example.com, , bob@example.net',
  'ann@example.com bob@example.net',
  '=?utf-8?Q?J=C3=BCrgen?= <j@example.net>',
  '=?utf-8?Q?Lee=2C_Ann?= <ann@example.com>',
  '"=?utf-8?Q?J=C3=BCrgen?=" <j@example.net>',
  '=?utf-8?B?PGV2ZUBleGFtcGxlLm9yZz4=?= <ann@example.com>',
  "'Ann' <ann@example.com>",
  'ann@example.com <bob@example.net>',
  '"ann@example.com" <bob@example.net>',
  'ann@bücher.example',
  'jürgen@example.com',
  'ann@xn--bcher-kva.example',
  'ANN@EXAMPLE.COM',
  'ann@example.com.',
  '.ann@example.com',
  'ann..lee@example.com',
  'ann@example..com',
  'ann@-example.com',
  'ann@exam_ple.com',
  'ann@localhost',
  `${'a'.repeat(65)}@example.com`,
  `ann@${'a'.repeat(64)}.example`,
  `ann@${'a.'.repeat(130)}example`,
  'a\0b@example.com',
  'ann@example.com\u0001',
  'Ann\u202e <ann@example.com>',
  'mailto:ann@example.com',
  '[Ann] <ann@example.com>',
  'Dr. Ann M. Lee <ann@example.com>',
  'A, B <c@example.com>',
]

t.test('address lists, mailboxes and addresses', async t => {
  sameFacts(t, 'address-lists', [
    ...each('list', lists, list => ({
      list: readAddressList(list),
      mailboxes: mailboxes(readAddressList(list)),
      mailbox: readMailbox(list),
      listed: listedAddresses(list),
    })),
    ...each('author', lists, list => {
      const author = readAuthor(readHeader(Buffer.from(`From: ${list}\r\n\r\n`)))
      return { author, shown: shownAuthor(author) }
    }),
    ...each('address', lists, list => ({
      parsed: parseAddress(list),
      written: writtenAddress(list),
      normal: normaliseAddress(list),
      recipient: normaliseRecipient(list),
      inHeader: headerAddress(list),
    })),
  ])
})

const domains = [
  'example.com',
  'Example.COM',
  'example.com.',
  'com',
  '',
  '.',
  'a..b',
  '-a.example',
  'a-.example',
  'a_b.example',
  'bücher.example',
  'xn--bcher-kva.example',
  'xn--zzzzzz.example',
  '[192.0.2.1]',
  '[IPv6:2001:db8::1]',
  '[ipv6:::ffff:192.0.2.1]',
  '192.0.2.1',
  '1.2.3.4.5',
  'example.123',
  'a b.example',
  `${'a'.repeat(63)}.example`,
  `${'a'.repeat(64)}.example`,
  `${'a.'.repeat(123)}example`,
  `${'a.'.repeat(124)}example`,
  'faß.de',
  '例え.テスト',
]

t.test('domains and reverse-paths', async t => {
  const token = 'abcdefghijklmnopqrstuvwx'
  const paths = [
    `b-${token}@bounce.ours.example`,
    `B-${token.toUpperCase()}@bounce.ours.example`,
    `b-${token}x@bounce.ours.example`,
    `b-${token.slice(1)}@bounce.ours.example`,
    `b${token}@bounce.ours.example`,
    'ann+tag@example.com',
    'ann+@example.com',
    '+tag@example.com',
    'ann',
    'SRS0=abcd=xy=example.net=bob@ours.example',
    'srs1=abcd=far.example==abcd=xy=example.net=bob@ours.example',
  ]
  const at = new Date('2026-11-03T08:05:59Z')
  const rewriting = { secret: 'a secret', domain: 'ours.example', at }
  sameFacts(t, 'domains', [
    ...each('domain', domains, domain => ({
      normal: normaliseDomain(domain),
      mail: normaliseMailDomain(domain),
      literal: literalAddress(domain),
    })),
    ...each('path', paths, path => ({
      verp: parseVerp(path),
      isRewritten: isRewritten(path),
      domain: domainOf(path),
      base: baseAddress(path),
    })),
    ['verp', formatVerp(token, 'ours.example')],
    ...each('rewritten', ['bob@example.net', `${'b'.repeat(64)}@${'e'.repeat(60)}.example`, ''], sender =>
      (['forward', 'copy'] as const).map(purpose =>
        rewriteSender({ ...rewriting, purpose: purpose as never, sender }),
      ),
    ),
  ])
})

t.test('dates', async t => {
  const dates = [
    'Mon, 2 Nov 2026 09:41:05 +0100',
    '2 Nov 2026 09:41 +0100',
    '02 November 2026 09:41:05 -0930',
    'Mon, 2 Nov 26 09:41:05 EST',
    '2 Nov 49 00:00:00 Z',
    '2 Nov 50 00:00:00 GMT',
    '2 Nov 99 00:00:00',
    '2 Nov 126 00:00:00 +0000',
    '2-Nov-2026 9:41:05 +0000',
    'Mon 2 Nov 2026 9 : 41 : 05 +0000',
    'Mon,2 Nov 2026 09:41:05+0000',
    '(a) 2 (b (c)) Nov 2026 09:41:05 +0000 (CET)',
    ') 2 Nov 2026 09:41:05 +0000',
    '29 Feb 2024 00:00:00 +0000',
    '29 Feb 2026 00:00:00 +0000',
    '31 Apr 2026 00:00:00 +0000',
    '0 Nov 2026 00:00:00 +0000',
    '1 Nov 2026 23:59:60 +0000',
    '1 Nov 2026 23:59:61 +0000',
    '1 Nov 2026 24:00:00 +0000',
    '1 Nov 2026 00:60:00 +0000',
    '1 Nov 2026 00:00:00 +0060',
    '1 Nov 2026 00:00:00 +0059',
    '1 Nov 2026 00:00:00 -0000',
    '1 Nov 2026 00:00:00 +9999',
    '1 Foo 2026 00:00:00 +0000',
    '2026-11-02T09:41:05Z',
    'yesterday',
    '',
    ...['EDT', 'EST', 'CDT', 'CST', 'MDT', 'MST', 'PDT', 'PST', 'UT', 'A', 'nowhere', 'cet'].map(
      zone => `1 Nov 2026 12:00:00 ${zone}`,
    ),
    ...'Jan Feb Mar Apr May Jun Jul Aug Sep Sept Oct Nov Dec'
      .split(' ')
      .map(month => `5 ${month} 2026 01:02:03 +0000`),
  ]
  sameFacts(t, 'dates', each('date', dates, parseDate))
})

t.test('encoded words, parameters, Message-IDs', async t => {
  const words = [
    'plain',
    '=?utf-8?Q?Gr=C3=BC=C3=9Fe?=',
    '=?utf-8?q?a_b=5Fc?=',
    '=?UTF-8?B?R3LDvMOfZQ==?=',
    '=?utf-8?B?R3LDvMOfZQ?=',
    '=?utf-8?Q?one?= =?utf-8?Q?two?=',
    '=?utf-8?Q?one?=\r\n =?utf-8?Q?two?=',
    '=?utf-8?Q?one?= and =?utf-8?Q?two?=',
    '=?utf-8?Q?one?==?utf-8?Q?two?=',
    '=?utf-8?Q?=C3?= =?utf-8?Q?=BC?=',
    '=?utf-8?Q?=C3?= =?iso-8859-1?Q?=BC?=',
    '=?iso-8859-1*de?Q?=FC?=',
    '=?unknown?Q?=FC?=',
    '=?us-ascii?Q?=FC?=',
    '=?utf-8?X?abc?=',
    '=?utf-8?Q?abc',
    '=?utf-8?Q',
    '=?',
    '=??=',
    '=??Q?a?=',
    '=?utf-8?Q??=',
    '=?utf-8?Q?a b?=',
    '=?utf-8?Q?a?b?=',
    '=?utf-8?Q?=ZZ=4?=',
    '=?iso-2022-jp?B?GyRCJDMkcxsoQg==?=',
    '=?iso-2022-jp?B?GyRCJDM=?= =?iso-2022-jp?B?JHMbKEI=?=',
    '=?iso-2022-jp?B?GyRCJDMbKEI=?= =?iso-2022-jp?B?GyRCJHMbKEI=?=',
    '=?utf-7?Q?Gr+APwA3w-e?=',
    'a =?utf-8?Q?b?= c',
    '"=?utf-8?Q?b?="',
    '=?utf-8?Q?\xfc?=',
    'Gr\xfc\xdfe \x80',
    `=?${'x'.repeat(61)}?Q?a?=`,
    '=?utf-8?Q?nul=00here?=',
  ]
  const fields = [
    'text/plain',
    'TEXT/Plain; Charset=UTF-8',
    'text/plain; charset="utf-8"; format=flowed',
    'text/plain; charset = utf-8 ; x',
    'text/plain charset=utf-8',
    'text/plain;charset=utf-8;charset=latin1',
    'text/plain; name="a;b\\"c.txt"',
    "text/plain; name*=utf-8''%e2%82%ac.txt",
    "text/plain; name*=''a%20b",
    'text/plain; name*=plain',
    "text/plain; name=a; name*=utf-8''b",
    "text/plain; name*0*=utf-8''%e2; name*1*=%82%ac; name*2=.txt",
    'text/plain; name*1=b; name*0=a',
    'text/plain; name*0=a; name*2=c',
    'text/plain; name*0=a; name*0=b; name*1=c',
    'text/plain; name*01=x',
    'text/plain; name="=?utf-8?Q?=C3=BC?="',
    'text/plain; name=(comment)a',
    'text/plain (comment); name=a (b)',
    'text/plain; name="never closed',
    'text/plain; name=',
    'text/plain; =x',
    ';',
    '',
    'multipart/mixed; boundary="a b "',
    "attachment; filename*=%zz''a",
    "attachment; filename*=utf-8'en'a%",
    'inline; filename=a b c.txt',
    // What has no value takes none from the next one.
    'text/plain;; charset=utf-8',
    'text/plain; flowed; charset=utf-8',
    'text/plain; charset; charset=utf-8',
    'text/plain; charset="utf-8" ; flowed ;name=a',
    'attachment; filename; size=3',
    'attachment; filename',
    "attachment; filename*; filename*=utf-8''a",
    // Nothing stands between them but what must, and not even that.
    'text/plain;name="a";charset="utf-8";format=flowed',
    'text/plain;name="a"charset=utf-8 format=flowed',
    'text/plain;name=a charset="utf-8"format="flowed"',
  ]
  const ids = [
    '<a@b>',
    ' <a@b> ',
    'a@b',
    '<a@b> <c@d>',
    '<a@b><c@d>',
    '<a b@c>',
    '<"a b"@c>',
    '<a@[1]>',
    '<a>',
    '<>',
    '<a@b',
    'a@b>',
    '<a@b@c>',
    '(x) <a@b>',
    '<a@b>, <c@d>; <e@f>',
    'junk <a@b> junk <c@d>',
    `<${'a'.repeat(1000)}@b>`,
    '<a\0@b>',
    '<ü@b>',
  ]
  const chain = Array.from({ length: 12 }, (_, at) => `<${at}@x>`)
  sameFacts(t, 'words', [
    ...each('words', words, text => decodeWords(text)),
    ...each('parameters', fields, readParameters),
    ...each('ids', ids, text => ({
      ids: readMessageIds(text),
      references: readReferences(text),
      again: messageIds([text]),
    })),
    ...[1, 2, 3, 10, 11, 12, 13].map((length): Facts => [`chain of ${length}`, cutChain(chain, length)]),
    ...each(
      'line',
      ['a\r\nb', 'a\tb', ' a  b ', 'a\u0085b', 'a\u2028b', '\0', 'a\ud800b', '\u202ea'],
      singleLine,
    ),
    ...each('mailbox', ['Ann', 'Lee, Ann', 'a"b', 'a\\b', 'Jürgen', '', 'a@b'], name =>
      writeMailbox({ address: 'ann@example.com', name }),
    ),
  ])
})

t.test('charsets and encodings of bytes', async t => {
  const guess = await loadCharsetGuess()
  const labels =
    'utf-8 "UTF-8" us-ascii iso-8859-1 iso-8859-2 latin1 latin-2 cp1252 win-1251 x-cp1251 iso8859-15 iso-8859-8-i macroman koi8-r koi8r x-mac-roman cp932 shift_jis euc-jp gb2312 gbk big5 euc-kr ks_c_5601-1987 utf-16le utf-16be utf-7 unicode-1-1-utf-7 iso-2022-jp iso-2022-jp-2 tis-620 windows-874 unknown-8bit x-unknown 8bit nothing csutf8 utf8mb4'.split(
      ' ',
    )
  const samples: readonly (readonly [string, Buffer])[] = [
    ['ascii', Buffer.from('plain')],
    ['utf-8', Buffer.from('Grüße €')],
    ['latin', Buffer.from('Gr\xfc\xdfe \x80', 'latin1')],
    ['mixed', Buffer.from([...Buffer.from('Grüße Größe '), 0xfc, 0xdf])],
    ['broken', Buffer.from([0xc3, 0x28, 0xff, 0xe2, 0x82])],
    ['cyrillic', Buffer.from('cff0e8e2e5f22c20eae0ea20e4e5ebe03f20c2f1e520f5eef0eef8ee2e', 'hex')],
    ['shift_jis', Buffer.from('82b182f182c982bf82cd90a28a45', 'hex')],
    [
      'two characters of Japanese',
      Buffer.concat([Buffer.from('report '), Buffer.from('93fa93fa', 'hex'), Buffer.from(' end')]),
    ],
    [
      'three of them, apart',
      Buffer.from('reports 93fa and 93fa or 93fa end'.replaceAll('93fa', '\x93\xfa'), 'latin1'),
    ],
    ['one dash', Buffer.from('well \x96 said', 'latin1')],
    ['dashes', Buffer.from('a\x96b c\x85 \x93d\x94 \x80\x80', 'latin1')],
    ['polish', Buffer.from('Za\xbf\xf3\xb3\xe6 g\xea\xb6l\xb1 ja\xbc\xf1', 'latin1')],
  ]
  const sequences =
    'c2 c280 c1bf e0a080 e09fbf ed9fbf eda080 f0908080 f08fbfbf f48fbfbf f4908080 f5808080 e282 efbfbd 80 ff'
  sameFacts(t, 'charsets', [
    ...samples.flatMap(([name, bytes]) =>
      ['', ...labels].map(
        (label): Facts => [
          `${name} as ${label}`,
          [decodeText(bytes, label), decodeText(bytes, label, guess)],
        ],
      ),
    ),
    ...sequences
      .split(' ')
      .map(
        (hex): Facts => [
          `sequence ${hex}`,
          decodeText(
            Buffer.concat([Buffer.from('ÄÖÜäöüß€'), Buffer.from(hex, 'hex'), Buffer.from('.')]),
            'utf-8',
          ),
        ],
      ),
    ...labels.map((label): Facts => [`is said ${label}`, isSaid(label)]),
    ...each(
      'markup',
      [
        '<meta charset=utf-8>',
        '<meta http-equiv=x content="text/html; charset=iso-8859-2">',
        '<meta>',
        `${' '.repeat(1020)}<meta charset=x>`,
      ],
      text => markupCharset(Buffer.from(text)),
    ),
    ['latin', fromLatin1('a\x80\x9f\xa0')],
    [
      'quoted-printable',
      byLength(Buffer.from('a=C3=BC=\r\nb= \t\r\nc=3D=zz=4 \t\r\n.=\n=e2=82=AC'), decodeQuotedPrintable),
    ],
    ['UTF-7', byLength(Buffer.from('a+-b+APw-c+2D3eAA-+AOkA6Q +/+!'), decodeUtf7)],
    [
      'a conversation',
      byLength(Buffer.from('AQHUmL3pVvmYWoNCAEqzhrXkYh4kUqYAABcd'), bytes =>
        readThreadIndex(bytes.toString()),
      ),
    ],
    ['another', readThreadIndex('AgHUmL3pVvmYWoNCAEqzhrXkYh4kUqYAABcd')],
  ])
})

t.test('headers, cut off at each byte', async t => {
  const header = Buffer.from(
    'Received: a\r\nSubject : x\r\n y\r\n\tz\nFrom: \xc3\xbc <a@b>\r\r\nReceived: b\r\nno field\r\n: x\r\nX\xff: y\r\nLast:\r\n\r\nbody',
    'latin1',
  )
  const facts = (raw: Buffer) => {
    const { fields, bodyOffset, ...more } = readHeader(raw)
    return [
      fields.map(({ lowerName, value, isUtf8 }) => `${lowerName}=${value}${isUtf8 ? ' utf8' : ''}`),
      bodyOffset,
      more,
      countReceived(readHeader(raw)),
      findHeaderFault(raw),
    ]
  }
  sameFacts(t, 'headers', [
    ['cut off', byLength(header, facts)],
    ...[1, 99, 100, 101, 999, 1000, 1001].map(
      (lines): Facts => [`${lines} lines`, findHeaderFault(Buffer.from(`${'A: b\r\n'.repeat(lines)}\r\n`))],
    ),
  ])
})
