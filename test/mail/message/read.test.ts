import { randomBytes } from 'node:crypto'
import t from 'tap'
import { headerBytes } from '../../../lib/mail/header/header.ts'
import { referencesMax } from '../../../lib/mail/header/message-id.ts'
import { openAttachment, readMessage } from '../../../lib/mail/message/read.ts'
import { mimeParts } from '../../../lib/mail/message/uuencoded-files.ts'
import { storedBodyLength } from '../../../lib/mail/text/body-text.ts'
import { textPartsBytes } from '../../../lib/mail/tnef/tnef.ts'
import { manyTimes } from '../../support/hostile.ts'

type Line = string | Buffer

/** A message of header lines and body lines; bytes stand for themselves. */
function message(header: readonly Line[], body: readonly Line[] = []): Buffer {
  const lines = [...header, '', ...body]
  return Buffer.concat(lines.flatMap(line => [Buffer.from(line as Buffer), Buffer.from('\r\n')]))
}

/** multipart/mixed of parts that are whole, header and all. */
function multipart(type: string, parts: readonly Buffer[]): Buffer {
  const inner = parts.flatMap(part => [Buffer.from('--b\r\n'), part, Buffer.from('\r\n')])
  const head = `From: ann@example.com\r\nContent-Type: multipart/${type}; boundary=b\r\n\r\n`
  return Buffer.concat([Buffer.from(head), ...inner, Buffer.from('--b--\r\n')])
}

function part(header: readonly string[], body: Line): Buffer {
  return Buffer.concat([Buffer.from(`${header.join('\r\n')}\r\n\r\n`), Buffer.from(body as Buffer)])
}

t.test('a plain message', async t => {
  const parsed = readMessage(
    message(
      [
        'Message-ID: <1@example.com>',
        'In-Reply-To: Your message of "today" <0@example.com>',
        'References: <a@example.com> <0@example.com>',
        'From: =?utf-8?B?QW5uIMOE?= <Ann@Example.COM>',
        'Sender: bot@example.com',
        'To: bob@example.org, "Smith, Carol" <carol@example.org>',
        'Cc: friends: dave@example.org, Eve <eve@bücher.example>;, undisclosed:;',
        'Reply-To: answers@example.com',
        'Subject: =?iso-8859-1?Q?Gr=FC=DFe?=',
        'Date: Fri, 21 Nov 2025 10:00:00 +0100 (CET)',
      ],
      ['Hello', 'there'],
    ),
  )
  t.strictSame(
    { ...parsed, addressNames: { ...parsed.addressNames } },
    {
      calendarMethod: null,
      rfcMessageId: '<1@example.com>',
      inReplyTo: ['<0@example.com>'],
      references: ['<a@example.com>', '<0@example.com>'],
      author: { mailbox: { address: 'Ann@example.com', name: 'Ann Ä' } },
      from: { address: 'Ann@example.com', name: 'Ann Ä' },
      sender: { address: 'bot@example.com', name: '' },
      to: [
        { address: 'bob@example.org', name: '' },
        { address: 'carol@example.org', name: 'Smith, Carol' },
      ],
      cc: [
        { address: 'dave@example.org', name: '' },
        { address: 'eve@xn--bcher-kva.example', name: 'Eve' },
      ],
      replyTo: [{ address: 'answers@example.com', name: '' }],
      addressNames: {
        'ann@example.com': 'Ann Ä',
        'carol@example.org': 'Smith, Carol',
        'eve@xn--bcher-kva.example': 'Eve',
      },
      conversation: null,
      subject: 'Grüße',
      text: 'Hello\nthere\n',
      html: '',
      date: '2025-11-21T09:00:00.000Z',
      attachments: [],
      reportParts: [],
      problems: [],
      lacksGuess: false,
    },
  )
})

t.test('an empty message, and one that is no message', async t => {
  for (const raw of [Buffer.alloc(0), Buffer.from('\r\n'), randomBytes(10_000), Buffer.alloc(10_000, 'x')]) {
    const { from, to, attachments, addressNames } = readMessage(raw)
    t.same(
      { from, to, attachments, addressNames },
      { from: null, to: [], attachments: [], addressNames: null },
    )
  }
})

t.test('charsets', async t => {
  const cases: readonly (readonly [string, Buffer, string])[] = [
    ['iso-2022-jp', Buffer.from('\x1b$B$3$s$K$A$O\x1b(B', 'latin1'), 'こんにちは'],
    ['windows-1251', Buffer.from('cff0e8e2e5f2', 'hex'), 'Привет'],
    ['koi8-r', Buffer.from('f0d2c9d7c5d4', 'hex'), 'Привет'],
    ['gb18030', Buffer.from('c4e3bac3', 'hex'), '你好'],
    ['shift_jis', Buffer.from('82b182f182c982bf82cd', 'hex'), 'こんにちは'],
    ['"UTF-8"', Buffer.from('žluťoučký'), 'žluťoučký'],
    ['x-nobody-knows', Buffer.from('žluťoučký'), 'žluťoučký'],
  ]
  for (const [charset, bytes, text] of cases) {
    const name = charset.replaceAll('"', '')
    const raw = message(
      [
        `Subject: =?${name}?B?${bytes.toString('base64')}?=`,
        `From: =?${name}?Q?${bytes.toString('hex').toUpperCase().replace(/../g, '=$&')}?= <a@example.com>`,
        `Content-Type: text/plain; charset=${charset}`,
        'Content-Transfer-Encoding: 8bit',
      ],
      [bytes],
    )
    const parsed = readMessage(raw)
    t.same([parsed.text.trim(), parsed.subject, parsed.from?.name], [text, text, text], charset)
  }
})

t.test('what HTML says of its charset counts where the header says nothing of one', t => {
  const pi = Buffer.from('cff0e8', 'hex')
  const textOf = (type: string, meta: string) =>
    readMessage(
      message(
        [`Content-Type: ${type}`, 'Content-Transfer-Encoding: 8bit'],
        [Buffer.concat([Buffer.from(meta), pi])],
      ),
    )
      .text.replace(meta, '')
      .trim()
  const meta = '<meta charset="windows-1251">'
  for (const charset of ['', '; charset=us-ascii', '; charset=unknown-8bit', '; charset=""'])
    t.equal(textOf(`text/html${charset}`, meta), 'При', charset)
  t.equal(textOf('text/html; charset=koi8-r', meta), 'оПХ', 'the header comes first')
  t.equal(
    textOf('text/html; charset=iso-8859-1', meta),
    'Ïðè',
    'even with what many programs say of everything',
  )
  t.equal(textOf('text/html; charset=koi8-r', ''), 'оПХ')
  t.equal(textOf('text/html', ''), 'Ïðè', 'nothing says it')
  t.equal(textOf('text/plain', meta), 'Ïðè', 'a text that is no HTML')
  t.equal(textOf('text/plain; charset=windows-1251', '<meta charset="koi8-r">'), 'При')
  t.end()
})

t.test('raw bytes in a header', async t => {
  const cyrillic = Buffer.from('cff0e8e2e5f2', 'hex')
  const subjectOf = async (subject: Buffer, more: readonly string[]) =>
    readMessage(message([Buffer.concat([Buffer.from('Subject: '), subject]), ...more], [cyrillic])).subject
  t.equal(await subjectOf(Buffer.from('Grüße'), []), 'Grüße', 'UTF-8')
  t.equal(await subjectOf(cyrillic, ['Content-Type: text/plain; charset=windows-1251']), 'Привет')
  t.equal(await subjectOf(Buffer.from('Gr\xfc\xdfe', 'latin1'), []), 'Grüße', 'without a charset')
  // In a header they would be other characters than each reader of one sees.
  for (const charset of ['utf-16', 'UTF16LE', 'iso-2022-jp'])
    t.equal(
      await subjectOf(Buffer.from('Gr\xfc\xdfe', 'latin1'), [`Content-Type: text/plain; charset=${charset}`]),
      'Grüße',
      charset,
    )
  t.equal(await subjectOf(Buffer.from('=?koi8-r?Q?\xf0\xd2?=', 'latin1'), []), 'Пр', 'inside an encoded word')
})

t.test('hostile headers', async t => {
  const parsed = readMessage(
    message([
      'Subject: =?utf-8?Q?a=0D=0ABcc:_eve@example.com=00=07?=',
      'From: =?utf-8?Q?Eve=0D=0AX=3A_y?= <__proto__>',
      'To: =?utf-8?Q?bob=40bank.example?= <eve@example.com>, constructor <constructor>',
      'Cc: =?utf-8?Q?=3Cadmin=40bank.example=3E?=',
      'Message-ID: <a b\0@example.com>',
      'Date: yesterday',
      '__proto__: x',
      'List-__proto__: <x>',
    ]),
  )
  t.equal(parsed.subject, 'a Bcc: eve@example.com')
  t.same(parsed.from, { address: '__proto__', name: 'Eve X: y' })
  t.same(Object.entries(parsed.addressNames ?? {}), [
    ['__proto__', 'Eve X: y'],
    ['eve@example.com', 'bob@bank.example'],
  ])
  t.equal(
    JSON.stringify(parsed.addressNames),
    '{"__proto__":"Eve X: y","eve@example.com":"bob@bank.example"}',
  )
  t.equal(Reflect.get({}, 'eve@example.com'), undefined, 'no prototype was touched')
  t.equal(parsed.date, null, 'not the present moment')
  t.notMatch(parsed.rfcMessageId, /[\s\0]/)
})

t.test('a long chain of references', async t => {
  const ids = Array.from({ length: 500 }, (_, i) => `<${i}@example.com>`)
  const { references } = readMessage(message([`References: ${ids.join('\r\n ')}`]))
  t.equal(references.length, referencesMax)
  t.same([references[0], references[1], references.at(-1)], [ids[0], ids[401], ids[499]])
})

t.test('text and HTML', async t => {
  const plain = part(['Content-Type: text/plain'], 'plain & simple')
  const html = part(['Content-Type: text/html'], '<p>rich &amp; <b>bold</b></p>')
  const footer = part(['Content-Type: text/plain'], 'footer')
  const alternative = (parts: readonly Buffer[]) =>
    Buffer.concat([
      Buffer.from('Content-Type: multipart/alternative; boundary=c\r\n\r\n'),
      ...parts.flatMap(each => [Buffer.from('--c\r\n'), each, Buffer.from('\r\n')]),
      Buffer.from('--c--\r\n'),
    ])
  const cases: readonly (readonly [string, Buffer, string, RegExp | string])[] = [
    [
      'alternative',
      multipart('alternative', [plain, html]),
      'plain & simple',
      /^<p>rich &amp; <b>bold<\/b><\/p>$/,
    ],
    ['HTML alone', multipart('alternative', [html]), 'rich & bold', /rich/],
    ['text alone', multipart('mixed', [plain]), 'plain & simple', ''],
    [
      'list footer on HTML',
      multipart('mixed', [html, footer]),
      'rich & bold\nfooter',
      /rich[\s\S]*<p>footer<\/p>/,
    ],
    [
      'list footer on both',
      multipart('mixed', [alternative([plain, html]), footer]),
      'plain & simple\nfooter',
      /rich[\s\S]*footer/,
    ],
    [
      'list footer on HTML in an alternative',
      multipart('mixed', [alternative([html]), footer]),
      'rich & bold\nfooter',
      /rich[\s\S]*footer/,
    ],
    [
      'an empty text beside HTML',
      multipart('alternative', [part(['Content-Type: text/plain'], ' \r\n'), html]),
      'rich & bold',
      /rich/,
    ],
    ['neither', multipart('mixed', []), '', ''],
  ]
  for (const [name, raw, text, form] of cases) {
    const parsed = readMessage(raw)
    t.equal(parsed.text.trim(), text, name)
    t.match(parsed.html, form, name)
    if (form === '') t.equal(parsed.html, '', name)
  }
})

t.test('text files, and padded boundaries', async t => {
  const named = (name: string, text: string) =>
    part(['Content-Type: text/plain', `Content-Disposition: inline; filename=${name}`], text)
  const image = part(['Content-Type: image/png', 'Content-Disposition: inline; filename=a.png'], 'png')
  const first = readMessage(multipart('mixed', [named('a.txt', 'hello'), image, named('b.txt', 'file')]))
  t.equal(first.text.trim(), 'hello', 'the first text is what the message says')
  t.same(
    first.attachments.map(({ filename, isInline }) => [filename, isInline]),
    [
      ['a.png', true],
      ['b.txt', false],
    ],
  )
  const padded = multipart('mixed', [named('a.txt', 'hello'), image])
    .toString()
    .replace(/^--b(?:--)?$/gm, '$& \t')
  const second = readMessage(Buffer.from(padded))
  t.same([second.text.trim(), second.attachments.length], ['hello', 1])
})

t.test('what is stored of a long text', async t => {
  const parsed = readMessage(
    message(
      ['Content-Type: text/plain; charset=utf-8'],
      [`${'a\0'.repeat(10)}${'𝒜'.repeat(storedBodyLength)}`],
    ),
  )
  t.ok(parsed.text.length <= storedBodyLength && parsed.text.length > storedBodyLength - 100)
  t.ok(parsed.text.isWellFormed(), 'no half character')
  t.notOk(parsed.text.includes('\0'), 'no NUL')
  const html = readMessage(message(['Content-Type: text/html'], ['<p>x</p>\r\n'.repeat(500_000)]))
  t.equal(html.html.length, storedBodyLength)
  t.match(html.text, /^x/)
})

t.test('attachments', async t => {
  const raw = multipart('mixed', [
    part(['Content-Type: text/plain'], 'see below'),
    part(
      [
        'Content-Type: application/pdf',
        "Content-Disposition: attachment; filename*0*=utf-8''r%C3%A9; filename*1=sum%C3%A9.pdf",
      ],
      'one',
    ),
    part(
      [
        "Content-Type: text/plain; name*=windows-1251''%CF%F0%E8%E2%E5%F2.txt",
        'Content-Disposition: attachment',
      ],
      Buffer.from('cff0e8e2e5f2', 'hex'),
    ),
    part(
      [
        'Content-Type: image/png; name="=?utf-8?Q?=2E=2E/=2E=2E/etc/pass=0D=0Awd?="',
        'Content-Disposition: inline',
        'Content-ID: <pic@example.com>',
        'Content-Transfer-Encoding: base64',
      ],
      Buffer.from([0, 1, 2, 255]).toString('base64'),
    ),
    part(['Content-Type: message/rfc822'], 'Subject: inner\r\n\r\ninner text'),
    part(['Content-Type: nonsense; <script>', 'Content-Disposition: attachment; filename="__proto__"'], ''),
  ])
  const parsed = readMessage(raw)
  t.equal(parsed.text.trim(), 'see below')
  t.strictSame(parsed.attachments, [
    {
      filename: 'résumé.pdf',
      contentType: 'application/pdf',
      contentId: null,
      isInline: false,
      sizeBytes: 3,
    },
    { filename: 'Привет.txt', contentType: 'text/plain', contentId: null, isInline: false, sizeBytes: 6 },
    {
      filename: 'pass wd',
      contentType: 'image/png',
      contentId: 'pic@example.com',
      isInline: true,
      sizeBytes: 4,
    },
    {
      filename: 'attachment-4.eml',
      contentType: 'message/rfc822',
      contentId: null,
      isInline: false,
      sizeBytes: 28,
    },
    {
      filename: '__proto__',
      contentType: 'application/octet-stream',
      contentId: null,
      isInline: false,
      sizeBytes: 0,
    },
  ])
  for (const [index, { filename, contentType, sizeBytes }] of parsed.attachments.entries()) {
    const opened = openAttachment(raw, index)
    t.same([opened?.filename, opened?.contentType], [filename, contentType])
    const { content } = opened!
    t.equal(content.length, sizeBytes, filename)
    if (index === 1) t.equal(content.toString('hex'), 'cff0e8e2e5f2', 'a text is not decoded')
    if (index === 3) t.equal(content.toString(), 'Subject: inner\r\n\r\ninner text')
  }
  for (const index of [5, -1, 0.5, Number.NaN]) {
    t.equal(openAttachment(raw, index), undefined, `none at ${index}`)
  }
})

t.test('20 MB come out as they went in', async t => {
  const bytes = randomBytes(20_000_000)
  const base64 = bytes.toString('base64').replace(/.{76}/g, '$&\r\n')
  const raw = multipart('mixed', [
    part(['Content-Type: text/plain'], 'here'),
    part(['Content-Type: application/zip', 'Content-Transfer-Encoding: base64'], base64),
  ])
  const parsed = readMessage(raw)
  t.equal(parsed.attachments[0]?.sizeBytes, bytes.length)
  const { content } = openAttachment(raw, 0)!
  t.ok(content.equals(bytes))
})

t.test('what real mail gets wrong is read all the same', async t => {
  const grown = 'Grüße aus Köln – 5 €'
  const latin = Buffer.from('Gr\xfc\xdfe aus K\xf6ln \x96 5 \x80', 'latin1')
  const pdf = ['Content-Type: application/pdf; name=x.pdf', 'Content-Transfer-Encoding: base64']
  const cases: readonly (readonly [string, Buffer, string, readonly number[]])[] = [
    ...[
      '',
      '; charset=us-ascii',
      '; charset=utf-8',
      '; charset=unknown-8bit',
      '; charset=iso-8859-1',
    ].flatMap(charset =>
      [latin, Buffer.from(grown)].map(
        bytes =>
          [
            `${charset} ${bytes.length}`,
            message([`Content-Type: text/plain${charset}`], [bytes]),
            grown,
            [],
          ] as const,
      ),
    ),
    ['no type at all', message(['Subject: s'], [latin]), grown, []],
    [
      'a boundary that never comes',
      message(['Content-Type: multipart/mixed; boundary=no'], ['hello', 'you']),
      'hello\nyou',
      [],
    ],
    ['no boundary', message(['Content-Type: multipart/mixed'], ['hello']), 'hello', []],
    [
      'another boundary',
      message(
        ['Content-Type: multipart/mixed; boundary=no'],
        ['--b', 'Content-Type: text/plain', '', 'hi', '--b', ...pdf, '', 'SGVsbG8=', '--b--'],
      ),
      'hi',
      [5],
    ],
    [
      'an inner multipart that is not closed',
      message(
        ['Content-Type: multipart/mixed; boundary=O'],
        [
          '--O',
          'Content-Type: multipart/mixed; boundary=I',
          '',
          '--I',
          '',
          'hi',
          '--O',
          ...pdf,
          '',
          'SGVsbG8=',
          '--O--',
        ],
      ),
      'hi',
      [5],
    ],
    [
      'no empty line before the body',
      message(
        ['Content-Type: multipart/mixed; boundary=O'],
        ['--O', '', 'hi', '--O', ...pdf, 'SGVsbG8gV29ybGQhIEhlbGxvIFdvcmxkIQ==', '--O--'],
      ),
      'hi',
      [25],
    ],
    [
      'no empty line in the message',
      Buffer.from('From: a@b.c\r\nContent-Transfer-Encoding: base64\r\nSGVsbG8gV29ybGQh\r\n'),
      'Hello World!',
      [],
    ],
    [
      'a boundary on a line without white space',
      message(['Content-Type: multipart/mixed;', 'boundary=O'], ['--O', '', 'hi', '--O--']),
      'hi',
      [],
    ],
    [
      'a line of a space for the empty one',
      Buffer.from('From: a@b.c\r\n \r\nhello body\r\nmore'),
      'hello body\nmore',
      [],
    ],
    [
      'uuencode',
      message(
        ['Content-Transfer-Encoding: x-uuencode'],
        ['begin 644 t.txt', ',2&5L;&\\@5V]R;&0A', '`', 'end'],
      ),
      'Hello World!',
      [],
    ],
    [
      'base64 in pieces',
      message(['Content-Transfer-Encoding: base64;'], ['SGVsbG8=', 'IFdvcmxkIQ==', '-- ', 'a footer']),
      'Hello World!',
      [],
    ],
    [
      'a soft break with a space',
      message(['Content-Transfer-Encoding: quoted-printable'], ['ab= ', 'cd=E2=82=', '=AC=4g=']),
      'abcd€=4g',
      [],
    ],
    ['UTF-7', message(['Content-Type: text/plain; charset=utf-7'], ['Gr+APwA3w-e +-']), 'Grüße +', []],
    [
      'flowed',
      message(['Content-Type: text/plain; format=flowed'], ['> a ', '> b', '> ', 'c ', 'd', '-- ', 'e']),
      '> a b\n> \nc d\n-- \ne',
      [],
    ],
  ]
  for (const [name, raw, text, sizes] of cases) {
    const read = readMessage(raw)
    t.equal(read.text.trim(), text, name)
    t.same(
      read.attachments.map(({ sizeBytes }) => sizeBytes),
      sizes,
      `${name}: attachments`,
    )
  }
})

t.test('what exists is read, whatever its labels say of it', async t => {
  const from = 'From: a@b.example'
  const parts = ['--q', 'Content-Type: text/plain', '', 'Hello there', '--q--']
  for (const type of ['multipart/*', 'multipart', 'multipart/']) {
    const { text, attachments } = readMessage(message([from, `Content-Type: ${type}; boundary=q`], parts))
    t.strictSame([text, attachments], ['Hello there', []], type)
  }
  for (const types of [
    ['multipart/mixed; boundary=q', 'text/plain'],
    ['multipart/mixed; boundary=q', 'multipart/mixed; boundary=gone'],
    ['text/html', 'multipart/mixed; boundary=q'],
  ]) {
    const fields = types.map(type => `Content-Type: ${type}`)
    t.equal(readMessage(message([from, ...fields], parts)).text, 'Hello there', types.join(' and '))
  }
  t.equal(
    readMessage(message([from, 'Content-Type: text/plain charset=utf-8'], ['Hello'])).text,
    'Hello\n',
    'a forgotten semicolon',
  )
  const base64 = [from, 'Content-Transfer-Encoding: base64']
  const plain: readonly (readonly string[])[] = [
    ['The disk of host seven is full.'],
    ['Hello', '', 'The disk is full, please help'],
    ['<p>Hello</p>'],
    ['Grüße aus Köln'],
  ]
  for (const lines of plain)
    t.equal(readMessage(message(base64, lines)).text.trim(), lines.join('\n'), lines[0]!)
  t.equal(readMessage(message(base64, ['SGVsbG8gdGhl', ' cmU='])).text, 'Hello there')
  t.equal(readMessage(message(base64, ['SGVsbG8', '', '____', 'A list'])).text.slice(0, 5), 'Hello')
})

t.test('a text that only points to the HTML is none', async t => {
  const both = (text: string, html: string) =>
    readMessage(
      message(
        ['Content-Type: multipart/alternative; boundary=b'],
        ['--b', '', text, '--b', 'Content-Type: text/html', '', html, '--b--'],
      ),
    ).text.trim()
  const html = '<p>Your verification code is</p><h1>482913</h1><p>It expires in 10 minutes.</p>'
  for (const stub of [
    'Your code (please open the HTML form of this mail)',
    'See HTML version',
    'Your mail program does not show HTML',
    'Ce message est au format HTML.',
    'View this email in your browser: https://shop.example/view/1',
    'メールをブラウザで表示',
  ])
    t.match(both(stub, html), /482913/, stub)
  const question = 'What does the HTML version say in your browser?'
  t.equal(both(question, `<p>${question.replace(' say', ' <b>say</b>')}</p>`), question)
  t.equal(both('Your code is 482913', '<p>Another text</p>'), 'Your code is 482913')
})

t.test('no line of a text is lost where the empty line before it is missing', async t => {
  const read = (lines: readonly string[]) => readMessage(Buffer.from(lines.join('\r\n')))
  const boundary = read([
    'Content-Type: multipart/alternative; boundary="M"',
    '--M',
    'Content-Type: text/plain',
    '',
    'Plain words',
    '--M--',
  ])
  t.strictSame([boundary.text, boundary.problems], ['Plain words', []])
  const words = read(['Subject: x', 'The first line', 'Note: bring the lamp', 'and the second: yes'])
  t.equal(words.text, 'The first line\nNote: bring the lamp\nand the second: yes')
  const part = read([
    'Content-Type: multipart/mixed; boundary="M"',
    '',
    '--M',
    'Content-Type: text/plain',
    'The first line',
    'Note: bring the lamp',
    '--M--',
  ])
  t.equal(part.text, 'The first line\nNote: bring the lamp')
  const relay = read(['Received: from a', 'by relay with SMTP', 'From: ann@peer.example', '', 'Hello'])
  t.strictSame([relay.from?.address, relay.text], ['ann@peer.example', 'Hello'])
  t.match(relay.problems, ['a line in the header is no field'])
})

t.test('of all text parts together so many bytes are decoded, and the rest is in the raw alone', async t => {
  // Line ends that are none: so many of them are no text at all.
  const empty = '=\r\n'.repeat(Math.ceil(textPartsBytes / 3))
  const part = (text: string) =>
    `--b\r\nContent-Type: text/plain\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n${text}\r\n`
  const read = (first: string) =>
    readMessage(
      Buffer.from(
        `Content-Type: multipart/mixed; boundary=b\r\n\r\n${part(first)}${part('the last')}--b--\r\n`,
      ),
    )
  t.match(read('the first').text, /the first[\s\S]*the last/)
  t.notMatch(read(empty).text, /the last/)
  t.ok(textPartsBytes <= 8 * 1024 * 1024)
})

t.test('what is not read, and is said', async t => {
  const nested = Array.from({ length: 5000 }, (_, i) => [
    `--b${i}`,
    `Content-Type: multipart/mixed; boundary=b${i + 1}`,
    '',
  ]).flat()
  const deep = readMessage(
    message(['From: ann@example.com', 'Subject: deep', 'Content-Type: multipart/mixed; boundary=b0'], nested),
  )
  t.match(deep.problems, [/30 deep/])
  t.same([deep.from?.address, deep.subject, deep.text], ['ann@example.com', 'deep', ''])

  const parts = Array.from({ length: mimeParts + 10 }, (_, i) => part(['Content-Type: image/png'], String(i)))
  const many = readMessage(multipart('mixed', [part(['Content-Type: text/plain'], 'text'), ...parts]))
  t.match(many.problems, [/1000 parts/])
  t.equal(many.text.trim(), 'text', 'what was read before is there')
  t.ok(many.attachments.length > 900)

  for (const filler of [`X: ${'x'.repeat(3_000_000)}`, 'X: y\r\n'.repeat(60_000)]) {
    const large = readMessage(message(['From: ann@example.com', 'Subject: large', filler], ['text']))
    t.match(large.problems, [/the header has more than/])
    t.same([large.from?.address, large.subject, large.text.trim()], ['ann@example.com', 'large', 'text'])
  }
})

t.test('hostile bodies take no long time', async t => {
  const inMixed = 'Content-Type: multipart/mixed; boundary=x'
  const cases: Record<string, Buffer> = {
    'lines that could be boundaries': message([inMixed], ['--\r\n'.repeat(manyTimes)]),
    'boundaries alone': message([inMixed], ['--x\r\n'.repeat(manyTimes)]),
    'one long line': message(['Content-Type: text/plain'], ['x'.repeat(10 * manyTimes)]),
    'elements that open': message(['Content-Type: text/html'], ['<div>'.repeat(manyTimes)]),
    'flowed text': message(['Content-Type: text/plain; format=flowed'], ['> a \r\n'.repeat(manyTimes)]),
    'escapes of Japanese': message(
      ['Content-Type: text/plain; charset=iso-2022-jp'],
      ['\x1b$B'.repeat(manyTimes)],
    ),
    'many HTML parts': message(
      [inMixed],
      [`--x\r\nContent-Type: text/html\r\n\r\n${'<i></i>'.repeat(1500)}\r\n`.repeat(900)],
    ),
  }
  for (const [name, raw] of Object.entries(cases)) {
    readMessage(raw)
    t.pass(name)
  }
})

t.test('hostile headers take no long time', async t => {
  const filling = (field: string, part: string) =>
    message([field + part.repeat((headerBytes - 100) / part.length)])
  const cases: Record<string, Buffer> = {
    'many addresses': filling('Cc: ', 'a:"b" <=?utf-8?q?a?=@c>;'),
    'many encoded words': filling('Subject: ', '=?utf-8?q?=F0=9F?= '),
    'many parameters': filling('Content-Type: text/plain;', 'a*0*=b;'),
  }
  // A header can't be made larger, so it is read again and again.
  for (const [name, raw] of Object.entries(cases)) {
    for (let count = 0; count < 30; count++) t.strictSame(readMessage(raw).problems, [], name)
  }
})

t.test('hostile headers of parts take no long time either', async t => {
  const folded = (text: string) => text.replace(/(.{900})/g, '$1\r\n ')
  const numbered = (form: (index: number) => string) =>
    Array.from({ length: 10_000 }, (_, i) => form(i)).join('')
  const cases: Record<string, string> = {
    'a group without end': `To: ${'a:'.repeat(100_000)}`,
    'many addresses': `To: ${'a@b.c,'.repeat(40_000)}`,
    'many encoded words': `Content-Disposition: ${'=?utf-8?Q?=41?= '.repeat(15_000)}`,
    'encoded words that do not end': `Content-Disposition: a; b="${'=?utf-8?Q?'.repeat(20_000)}`,
    'segments of one parameter': `Content-Type: text/plain${numbered(i => `;a*${i}*=%41`)}`,
    'many parameters': `Content-Type: text/plain${numbered(i => `;a${i}*0*=%41`)}`,
    'parameters without semicolons': `Content-Type: text/plain; ${'a="b" '.repeat(40_000)}`,
    'semicolons alone': `Content-Type: text/plain${';'.repeat(200_000)}a=b`,
    'lines of white space': `Subject: a${'\r\n '.repeat(80_000)}`,
    'lines that are no field': 'no field\r\nX-A: b\r\n'.repeat(15_000),
    'many fields': 'a:b\r\n'.repeat(40_000),
  }
  for (const [name, field] of Object.entries(cases)) {
    const parts = Array.from({ length: 60 }, () =>
      part([name.startsWith('l') || name.endsWith('fields') ? field : folded(field)], 'x'),
    )
    const { problems, attachments } = readMessage(multipart('mixed', parts))
    t.match(problems[0], /the header of a part has more than/, name)
    t.ok(attachments.length <= 60)
  }
})

t.test(
  'of a field that stands there twice the last is read, or the one that fits the body, whatever stands above it',
  async t => {
    const fields = {
      To: ['ann@a.example', 'bob@b.example'],
      Cc: ['ann@a.example', 'bob@b.example'],
      Sender: ['ann@a.example', 'bob@b.example'],
      'Reply-To': ['ann@a.example', 'bob@b.example'],
      Subject: ['one', '=?utf-8?q?two?='],
      Date: ['Thu, 1 Jan 2026 10:00:00 +0000', 'Fri, 2 Jan 2026 10:00:00 +0000'],
      'Message-ID': ['<1@a.example>', '<2@b.example>'],
      'In-Reply-To': ['<1@a.example>', '<2@b.example>'],
      References: ['<1@a.example>', '<2@b.example>'],
      'Content-Type': [
        'multipart/mixed; boundary=other',
        'text/plain; charset=utf-8; format=flowed; name=a.txt',
        'text/html; charset=iso-8859-1',
        'multipart/mixed; boundary=b',
        'application/pdf; name="x.pdf"',
      ],
      'Content-Transfer-Encoding': ['base64', 'quoted-printable', '8bit'],
      'Content-Disposition': ['attachment; filename=a.txt', 'inline', 'attachment; filename=b.txt'],
      'Content-ID': ['<1@a.example>', '<2@b.example>'],
    }
    const body = ['--other', '', 'Not this', '--other--', '--b', '', 'Gr=FC=C3=BCn', '--b--', 'R3I9w7xu']
    const said = (lines: readonly string[]) => {
      const { problems: _problems, ...read } = readMessage(message(['From: ann@a.example', ...lines], body))
      return read
    }
    for (const [name, values] of Object.entries(fields)) {
      for (const above of values)
        for (const last of values) {
          // Of Content-Type the one whose boundary stands in the body.
          const read = above.startsWith('multipart') && !last.startsWith('multipart') ? above : last
          t.strictSame(
            said([`${name}: ${above}`, `${name}: ${last}`]),
            said([`${name}: ${read}`]),
            `${name}: ${above} and ${last}`,
          )
        }
    }
  },
)
