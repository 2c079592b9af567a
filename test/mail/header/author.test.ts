import t from 'tap'
import { readAuthor } from '../../../lib/mail/header/author.ts'
import { headerBytes, headerLines, readHeader } from '../../../lib/mail/header/header.ts'

/** Header lines; bytes stand for themselves, and so does text in Latin-1 when it is said to be that. */
function read(lines: string, encoding: BufferEncoding = 'utf8') {
  return readAuthor(
    readHeader(Buffer.from(`${lines}\r\nSubject: s\r\n\r\nFrom: body@example.com\r\n`, encoding)),
  )
}

const word = (text: string) => `=?utf-8?B?${Buffer.from(text).toString('base64')}?=`

/** Text that ends no line of a test's report. */
const printable = (text: string) => JSON.stringify(text).replace(/[^ -~]/g, '?')

t.test('one mailbox, however it is written', async t => {
  const cases: readonly (readonly [string, string, string])[] = [
    ['a@b.example', 'a@b.example', ''],
    ['<a@b.example>', 'a@b.example', ''],
    ['a@my_host.b.example', 'a@my_host.b.example', ''],
    ['Ann Smith <a@B.Example>', 'a@b.example', 'Ann Smith'],
    ['"Smith, Ann" <a@b.example>', 'a@b.example', 'Smith, Ann'],
    ['John Q. Public <j@b.example>', 'j@b.example', 'John Q. Public'],
    ['"boss@trusted.com" <a@evil.com>', 'a@evil.com', 'boss@trusted.com'],
    ['"a <boss@trusted.com>" <a@evil.com>', 'a@evil.com', 'a <boss@trusted.com>'],
    ['"Boss\\" <boss@trusted.com>," <a@evil.com>', 'a@evil.com', 'Boss" <boss@trusted.com>,'],
    ['(boss@trusted.com) a@evil.com', 'a@evil.com', 'boss@trusted.com'],
    ['a@evil.com (Ann (the \\) first))', 'a@evil.com', 'Ann (the ) first)'],
    ['a(x)@(y)evil.com', 'a@evil.com', 'x y'],
    [`${word('Boss <boss@trusted.com>,')} <a@evil.com>`, 'a@evil.com', 'Boss <boss@trusted.com>,'],
    [
      `${word('boss@trusted.com')}\r\n ${word('\r\nFrom: x@y')} <a@evil.com>`,
      'a@evil.com',
      'boss@trusted.com From: x@y',
    ],
    [`"${word('Ann')}" <a@b.example>`, 'a@b.example', 'Ann'],
    ['a@b.example <A@b.example>', 'A@b.example', 'a@b.example'],
    ['<@relay.example,@r2.example:a@b.example>', 'a@b.example', ''],
    [', a@b.example ,,', 'a@b.example', ''],
    ['a . b @ c . example', 'a.b@c.example', ''],
    ['"a b"@b.example', '"a b"@b.example', ''],
    ['[JIRA] Ann <a@b.example>', 'a@b.example', '[JIRA] Ann'],
    ['Jürgen <jürgen@b.example>', 'jürgen@b.example', 'Jürgen'],
    ['a@ｔrusted．com', 'a@trusted.com', ''],
    ['a@trus\u00adted.com', 'a@trusted.com', ''],
    ['a@BÜCHER.example', 'a@xn--bcher-kva.example', ''],
    ['a@b.example\r\n\t(folded\r\n  twice)', 'a@b.example', 'folded  twice'.replace('  ', ' ')],
  ]
  for (const [value, address, name] of cases) {
    t.strictSame(read(`From: ${value}`), { mailbox: { address, name } }, value)
  }
  t.strictSame(
    read('From: J\xfcrgen <j@b.example>', 'latin1'),
    { mailbox: { address: 'j@b.example', name: 'Jürgen' } },
    'a name in another charset is read as well as can be',
  )
})

t.test('a line of an old relay without its white space leaves no doubt about the author', async t => {
  for (const line of [
    'by relay.example with SMTP',
    'from relay.example (192.0.2.1) by mx.example',
    'id 5; Mon',
  ])
    t.strictSame(read(`Received: from a\r\n${line}\r\nFrom: a@b.example`), {
      mailbox: { address: 'a@b.example', name: '' },
    })
})

t.test('what two readers might read in two ways is a fault', async t => {
  const from = (value: string) => `From: ${value}`
  const cases: readonly (readonly [string, RegExp])[] = [
    ['To: a@b.example', /no From/],
    [from(''), /no mailbox/],
    [from('a@b.example\r\nFrom: c@d.example'), /several From/],
    [from('a@b.example\r\nFROM: a@b.example'), /several From/],
    [from('a@b.example\r\nfrom : c@d.example'), /several From/],
    ['From : a@b.example', /white space/],
    ['From\t: a@b.example', /white space/],
    [from('a@b.example, c@d.example'), /several mailboxes/],
    [from(`x: ${word('Boss <boss@trusted.com>')};, a@evil.com`), /group/],
    [from('x: a@evil.com;'), /group/],
    [from('x:;, a@evil.com'), /group/],
    [from('x: a@evil.com'), /group/],
    [from(`${word('Boss <boss@trusted.com>')}, a@evil.com`), /without an address/],
    [from(word('boss@trusted.com')), /without an address/],
    [from('Smith, Ann <a@b.example>'), /without an address/],
    [from('boss@trusted.com <a@evil.com>'), /name/],
    [from('Boss\\ <a@evil.com>'), /name/],
    [from('=?utf-8?Q?"?= <boss@trusted.com> =?utf-8?Q?"?= <a@evil.com>'), /in an encoded word/],
    [from('=?utf-8?Q? " ?= <boss@trusted.com> =?utf-8?Q? " ?= <a@evil.com>'), /in an encoded word/],
    [from('=?utf-8?Q?(?= <boss@trusted.com> =?utf-8?Q?)?= <a@evil.com>'), /in an encoded word/],
    [from('a <boss@trusted.com> b <a@evil.com>'), /angle/],
    ['From;\r\nFrom: a@evil.com', /no field/],
    ['\ufeffFrom: boss@trusted.com\r\nFrom: a@evil.com', /no field/],
    ['>From boss@trusted.com\r\nFrom: a@evil.com', /no field/],
    [from('\\"Boss\\" <a@evil.com>'), /not closed/],
    [from('<boss@trusted.com> <a@evil.com>'), /two addresses/],
    [from('<a@evil.com> boss@trusted.com'), /behind/],
    [from('<a@evil.com>>'), /behind/],
    [from('<<a@evil.com>>'), /angle/],
    [from('a@evil.com <boss@trusted.com'), /not closed/],
    [from('"Boss <boss@trusted.com>, a@evil.com'), /quoted string/],
    [from('(Boss <boss@trusted.com>, a@evil.com'), /comment/],
    [from('a@evil.com )'), /comment/],
    [from(`${'('.repeat(40)}${')'.repeat(40)} a@evil.com`), /comments/],
    [from('a@evil.com; boss@trusted.com'), /semicolon/],
    [from('a@evil.com@trusted.com'), /more than one @/],
    [from('<a@evil.com@trusted.com>'), /more than one @/],
    [from('boss a@evil.com'), /words/],
    [from('<boss a@evil.com>'), /none/],
    [from('<mailto:a@evil.com>'), /none/],
    [from('<@"boss@trusted.com":a@evil.com>'), /none/],
    [from('root'), /without an address/],
    [from('<root>'), /none/],
    [from('<>'), /no mailbox|none/],
    [from('a@[192.0.2.1]'), /literal/],
    [from('a@192.0.2.1'), /none/],
    [from('a@.com'), /none/],
    [from('a..b@evil.com'), /none/],
    [from('a@xn--trusted-oka.com'), /none/],
    [from('a@xn--rusted-h168a.com'), /none/],
    [from('a@evil.com＠trusted.com'), /none/],
    [from('a@evil.com\0'), /control/],
    [from('Boss\u0085 <a@evil.com>'), /control/],
    [from('Boss\u2028 <a@evil.com>'), /control/],
    [from('x\rFrom: boss@trusted.com'), /control/],
    [from('\x1b$B<attacker@evil.com>\x1b(B <boss@trusted.com>'), /control/],
    [from('\x1b$B<boss@trusted.com>,\x1b(B a@evil.com'), /control/],
  ]
  for (const [lines, fault] of cases) {
    const author = read(lines)
    t.ok('fault' in author, printable(lines))
    if ('fault' in author) t.match(author.fault, fault, printable(lines))
  }
  const guessed = read('From: a@tr\xfcsted.com', 'latin1')
  t.match(
    guessed,
    { fault: /UTF-8/, shown: { address: 'a@xn--trsted-4ya.com' } },
    'no charset is guessed for a domain',
  )
  t.match(
    read('From: a@b.example\r\nFrom: c@d.example'),
    { fault: /several/, shown: { address: 'c@d.example' } },
    'shown is the last, which is the one that a signature would sign',
  )
  const cut = read(`${'X: y\r\n'.repeat(headerLines - 1)}From: a@b.example\r\nFrom: c@d.example`)
  t.match(cut, { fault: /not read to its end/, shown: { address: 'a@b.example' } })
})

t.test('no other field, charset or line makes a From', async t => {
  const mailbox = { address: 'a@evil.com', name: '' }
  for (const lines of [
    'From: a@evil.com\r\nContent-Type: text/plain; charset=iso-2022-jp\r\nX: y\r\n\x1b(BFrom: Boss <boss@trusted.com>',
    'From: a@evil.com\r\nX: y\r\n From: boss@trusted.com',
    'From boss@trusted.com Mon Jan 1\r\nFrom: a@evil.com',
    `From: a@evil.com\r\nSubject: ${word('\r\nFrom: boss@trusted.com')}`,
    'From: a@evil.com\r\nFrom\0: boss@trusted.com',
    'From: a@evil.com\r\n>From: boss@trusted.com',
    'From: a@evil.com\r\nFrоm: boss@trusted.com',
    'Sender: boss@trusted.com\r\nFrom: a@evil.com\r\nReply-To: boss@trusted.com',
  ]) {
    t.strictSame(read(lines), { mailbox }, printable(lines))
  }
})

t.test('any header is read in one pass', async t => {
  for (const part of [
    'a:',
    '(',
    '()',
    '"',
    ',',
    'a@b.c,',
    ' ',
    'a.',
    '<',
    '@',
    'a ',
    '(a) ',
    '\\',
    '=?',
    '=?utf-8?q?',
    '[',
    '<@a,',
    `${word('x')} `,
  ]) {
    const value = part.repeat(headerBytes / part.length - 10)
    // A header can't be made larger, so it is read again and again.
    for (let count = 0; count < 20; count++) read(`From: ${value.replace(/(.{900})/g, '$1\r\n ')}`)
    t.pass(printable(part))
  }
})
