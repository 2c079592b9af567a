import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import t from 'tap'
import { attachmentFilename, attachmentType } from '../../../lib/mail/compose/attachment.ts'
import { composeMessage, composeSliceBytes, type MessageParts } from '../../../lib/mail/compose/compose.ts'
import { readAddressList } from '../../../lib/mail/header/address-list.ts'
import { lastField, readHeader } from '../../../lib/mail/header/header.ts'
import { mailboxes } from '../../../lib/mail/header/mailbox.ts'
import { turnsDuring } from '../../support/event-loop.ts'
import { runProgram } from '../../support/program.ts'

interface AddressObject {
  readonly text: string
  readonly value: readonly { readonly address?: string; readonly name?: string }[]
}

/** What we read of mailparser's result; the package has no types. */
interface ParsedMail {
  readonly from?: AddressObject
  readonly to?: AddressObject
  readonly cc?: AddressObject
  readonly bcc?: AddressObject
  readonly replyTo?: AddressObject
  readonly subject?: string
  readonly text?: string
  readonly html?: string
  readonly inReplyTo?: string
  readonly references?: string | string[]
  readonly date?: Date
  readonly headers: ReadonlyMap<string, unknown>
  readonly attachments: readonly {
    readonly filename?: string
    readonly contentType: string
    readonly contentDisposition: string
    readonly content: Buffer
  }[]
}

const { simpleParser }: { simpleParser(raw: Buffer): Promise<ParsedMail> } = createRequire(import.meta.url)(
  'mailparser',
)

const bare = (...list: string[]) => list.map(address => ({ address, name: '' }))

const parts: MessageParts = {
  id: '0192f3a0-0000-7000-8000-000000000001',
  messageIdDomain: 'example.com',
  date: new Date('2026-11-03T08:05:59Z'),
  from: { address: 'ann@example.com', name: 'Ann' },
  to: bare('bob@example.net'),
  cc: [],
  replyTo: null,
  subject: 'Hello',
  text: 'Hello Bob\n',
  html: null,
  inReplyTo: null,
  references: [],
  attachments: [],
  autoSubmitted: false,
}

async function compose(more: Partial<MessageParts>): Promise<Buffer> {
  return (await composeMessage({ ...parts, ...more })).raw
}

/** The names of the fields of a message's own header. */
function fieldNames(raw: Buffer): string[] {
  const header = raw.toString('latin1', 0, raw.indexOf('\r\n\r\n'))
  return header
    .split(/\r\n(?![ \t])/)
    .map(field => field.split(':')[0]!)
    .sort()
}

/** What must be true of every message that we make. */
function wireFaults(raw: Buffer): string[] {
  const text = raw.toString('latin1')
  const header = text.slice(0, text.indexOf('\r\n\r\n'))
  const faults = []
  if (/\r(?!\n)|(?<!\r)\n/.test(text)) faults.push('bare CR or LF')
  if (!text.endsWith('\r\n')) faults.push('no CRLF at the end')
  if (text.includes('\0')) faults.push('NUL')
  if (/[^\0-\x7f]/.test(text)) faults.push('8-bit data')
  if (text.split('\r\n').some(line => line.length > 998)) faults.push('line over 998')
  if (/^[ \t]+$/m.test(header.replaceAll('\r', ''))) faults.push('a folded line without text')
  return faults
}

t.test('a plain message is as small as it can be', async t => {
  const { raw, rfcMessageId } = await composeMessage(parts)
  t.equal(rfcMessageId, `<${parts.id}@example.com>`)
  t.same(raw.toString().split('\r\n').sort(), [
    '',
    '',
    'Content-Transfer-Encoding: 7bit',
    'Content-Type: text/plain; charset=utf-8',
    'Date: Tue, 03 Nov 2026 08:05:59 +0000',
    'From: Ann <ann@example.com>',
    'Hello Bob',
    'MIME-Version: 1.0',
    `Message-ID: ${rfcMessageId}`,
    'Subject: Hello',
    'To: bob@example.net',
  ])
  t.same(wireFaults(raw), [])
})

t.test('every part comes back', async t => {
  const content = Buffer.from(Array.from({ length: 1000 }, (_, i) => i % 256))
  const raw = await compose({
    to: [
      { address: 'bob@example.net', name: 'Bob "the fish" Löwe, PhD' },
      { address: 'c.d+e@example.net', name: '' },
    ],
    cc: [{ address: 'eve@example.org', name: 'Eve' }],
    replyTo: 'replies@example.com',
    subject: 'Größe',
    text: 'Grüße,\n\n-- \nAnn\n',
    html: '<p>Grüße</p>',
    inReplyTo: '<a@b>',
    references: ['<x@y>', 'a@b'],
    autoSubmitted: true,
    attachments: [
      { filename: 'a b.bin', contentType: 'application/x-thing', content },
      { filename: '', contentType: 'text/plain', content: Buffer.from('one\ntwo\r') },
      { filename: 'empty', contentType: 'text/html; charset=utf-8', content: Buffer.alloc(0) },
    ],
  })
  t.same(wireFaults(raw), [])
  const mail = await simpleParser(raw)
  t.same(addresses(mail.from), ['ann@example.com'])
  t.same(addresses(mail.to), ['bob@example.net', 'c.d+e@example.net'])
  t.same(addresses(mail.cc), ['eve@example.org'])
  t.same(
    [...(mail.to?.value ?? []), ...(mail.cc?.value ?? [])].map(({ name }) => name),
    ['Bob "the fish" Löwe, PhD', '', 'Eve'],
  )
  t.same(addresses(mail.replyTo), ['replies@example.com'])
  t.equal(mail.subject, 'Größe')
  t.equal(mail.text, 'Grüße,\n\n-- \nAnn\n')
  t.equal(mail.html, '<p>Grüße</p>')
  t.equal(mail.inReplyTo, '<a@b>')
  t.same(mail.references, ['<x@y>', '<a@b>'])
  t.equal(mail.headers.get('auto-submitted'), 'auto-generated')
  t.equal(mail.date?.toISOString(), '2026-11-03T08:05:59.000Z')
  t.same(
    mail.attachments.map(a => [a.filename, a.contentType, a.contentDisposition]),
    [
      ['a b.bin', 'application/x-thing', 'attachment'],
      ['attachment-2.txt', 'text/plain', 'attachment'],
      ['empty', 'text/html', 'attachment'],
    ],
  )
  t.ok(mail.attachments[0]?.content.equals(content))
  t.equal(mail.attachments[1]?.content.toString(), 'one\ntwo\r')
  t.equal(mail.attachments[2]?.content.length, 0)
})

t.test(
  'no text, no recipients in the header, an attachment alone: still a message with a text part',
  async t => {
    const raw = await compose({
      text: '',
      html: '',
      to: [],
      attachments: [{ filename: 'a.pdf', contentType: 'application/pdf', content: Buffer.from('x') }],
    })
    const mail = await simpleParser(raw)
    t.match(mail.headers.get('content-type'), { value: 'multipart/mixed' })
    t.equal(mail.attachments.length, 1)
    t.notOk(fieldNames(raw).includes('To'))
    t.same(wireFaults(raw), [])
  },
)

t.test('nothing in any field gets out of it', async t => {
  const before = fieldNames(
    await compose({ inReplyTo: '<a@b>', references: ['<a@b>'], replyTo: 'r@b', cc: bare('c@d') }),
  )
  for (const control of [
    '\r\n',
    '\r',
    '\n',
    '\0',
    '\u2028',
    '\u2029',
    '\x85',
    '\x0b',
    '\ud800',
    '\udc00',
    '\r\n ',
    '\n\t',
  ]) {
    const evil = `x${control}Bcc: evil@example.org${control}${control}body`
    const raw = await compose({
      id: evil,
      messageIdDomain: evil,
      from: { address: `a${control}Bcc:evil@example.org`, name: evil },
      to: [{ address: `b@c${control}Bcc:evil`, name: evil }],
      cc: [{ address: `c@d${control}, evil@example.org`, name: `${evil}" <evil@example.org>, "` }],
      replyTo: `r@b${control}Bcc:evil`,
      subject: evil,
      inReplyTo: '<a@b>',
      references: [`<a@b>${control}`, evil, `<a${control}@b>`, '<c@d>'],
      attachments: [{ filename: evil, contentType: `text/plain${control}X: y`, content: Buffer.from('x') }],
    })
    const name = [...control].map(character => character.codePointAt(0)!.toString(16)).join(' ')
    // What is no address is left out.
    const gone = ['Content-Transfer-Encoding', 'To', 'Cc', 'Reply-To']
    t.same(fieldNames(raw), [...before.filter(field => !gone.includes(field))].sort(), name)
    const text = raw.toString()
    t.notMatch(text, /^(?:Bcc|X):/im, name)
    t.notMatch(text.replaceAll('\r\n', ''), /\p{Cc}|[\u2028\u2029]/u, name)
    t.same(
      wireFaults(raw).filter(fault => fault !== '8-bit data'),
      [],
      name,
    )
    const mail = await simpleParser(raw)
    t.equal(mail.bcc, undefined, name)
    t.equal(mail.cc, undefined, name)
    t.notMatch(
      `${mail.subject}${mail.from?.text}${mail.attachments[0]?.filename}`,
      /\p{Cc}|\p{Cs}|[\u2028\u2029]/u,
      name,
    )
  }
})

t.test('an address stays one address', async t => {
  for (const address of [
    'a@b, evil@c',
    'a@b>, <evil@c',
    '"a b"@c',
    'a b@c',
    'evil@c (x)@d',
    'a\u00a0b@c',
    'a;b:c@d',
    '',
  ]) {
    const raw = await compose({
      to: bare(address),
      replyTo: address,
      from: { address: 'ann@example.com', name: null },
    })
    const mail = await simpleParser(raw)
    t.ok(addresses(mail.to).length <= 1, address)
    t.ok(addresses(mail.replyTo).length <= 1, address)
    t.notOk(addresses(mail.to).includes('evil@c'), address)
  }
})

t.test('a quoted local part comes back as it was, whatever is in the quotes', async t => {
  const all = [
    '"<x@y.z>"@evil.com',
    '"<>"@evil.com',
    '"a b"@evil.com',
    '"a, b"@evil.com',
    '"x@y.z"@evil.com',
    '"a:b;"@evil.com',
    '"(x)"@evil.com',
    '"a..b"@evil.com',
    '"a\\"b"@evil.com',
    '"a\\\\b"@evil.com',
    '"a\\\\\\"<b"@evil.com',
    '"é <x"@evil.com',
    `"${'<x '.repeat(20)}<"@evil.com`,
  ]
  for (const address of all) {
    const other = 'bob@theirs.example'
    const raw = await compose({ to: bare(address, other), cc: bare(address), replyTo: address })
    const header = readHeader(raw)
    const read = (name: string) =>
      mailboxes(readAddressList(lastField(header, name) ?? '')).map(one => one.address)
    t.strictSame([read('to'), read('cc'), read('reply-to')], [[address, other], [address], [address]])
  }
  // Of 8 bits it makes no text.
  const ascii = all.filter(address => !address.includes('é'))
  const raw = await compose({ to: bare(...ascii) })
  const { code, stdout } = await runProgram('python3', ['-c', pythonTo], raw)
  if (code !== 0) t.pass('Python', { skip: 'needs python3' })
  // It takes off the quotes that it thinks are not needed.
  else t.strictSame(JSON.parse(stdout), ascii.with(7, 'a..b@evil.com'))
})

/** The addresses of To as Python's email has them, on one line. */
const pythonTo = `import email, email.policy, json, sys
message = email.message_from_binary_file(sys.stdin.buffer, policy=email.policy.default)
print(json.dumps([one.addr_spec for one in message['to'].addresses]))`

t.test('addresses in UTF-8 stand as they are, those with ASCII before the @ in A-labels', async t => {
  const raw = await compose({ to: bare('jürgen@exämple.net', 'ann@exämple.net') })
  t.match(raw.toString(), 'To: jürgen@exämple.net, ann@xn--exmple-cua.net\r\n')
})

t.test('Message-IDs that are none are left out, long chains keep both ends', async t => {
  const long = `<${'x'.repeat(1000)}@y>`
  const raw = await compose({
    inReplyTo: long,
    references: [long, 'ü@x', 'a b@c', '<<x@y>', '<ok@x>', '<ok@x>', ''],
  })
  t.match(raw.toString(), '\r\nReferences: <ok@x>\r\n')
  t.notOk(fieldNames(raw).includes('In-Reply-To'))
  const mail = await simpleParser(
    await compose({ references: Array.from({ length: 500 }, (_, i) => `<${i}@x>`) }),
  )
  t.equal(mail.references?.length, 100)
  t.same(
    [mail.references?.[0], mail.references?.[1], mail.references?.at(-1)],
    ['<0@x>', '<401@x>', '<499@x>'],
  )
})

t.test('an attachment has a type that its part can have', async t => {
  const content = Buffer.from('From: a@b\r\n\r\nx\r\n')
  for (const [given, type] of [
    ['image/PNG', 'image/png'],
    ['text/csv; charset=utf-8', 'text/csv; charset=utf-8'],
    ['text/csv; charset="utf-8"; header=present', 'text/csv; charset=utf-8; header=present'],
    ['text/calendar; method=REQUEST; charset=utf-8', 'text/calendar; method=REQUEST; charset=utf-8'],
    ['text/calendar; METHOD="REPLY";component=VEVENT', 'text/calendar; method=REPLY; component=VEVENT'],
    ['text/x; a="b \\"c\\" ; d"; name=e.txt', 'text/x; a="b \\"c\\" ; d"'],
    ['text/x; a=b\r\nBcc: c; d=ä; e=f', 'text/x; e=f'],
    ['application/vnd.oasis.opendocument.text', 'application/vnd.oasis.opendocument.text'],
    ['message/rfc822', 'message/rfc822'],
    ['message/partial; id=x', 'application/octet-stream'],
    ['multipart/mixed; boundary=x', 'application/octet-stream'],
    ['text', 'application/octet-stream'],
    ['text/plain x', 'application/octet-stream'],
    ['text/plain\r\nX: y', 'application/octet-stream'],
    ['text/pläin', 'application/octet-stream'],
    ['', 'application/octet-stream'],
    ['/', 'application/octet-stream'],
  ] as const)
    t.equal(attachmentType(given, content), type, given)
  for (const bytes of ['a\n', 'a\r', 'a\rb\r\n', 'ä\n', '\0\r\n', `${'x'.repeat(999)}\r\n`])
    t.equal(
      attachmentType('message/rfc822', Buffer.from(bytes)),
      'application/octet-stream',
      JSON.stringify(bytes),
    )
  const raw = await compose({ attachments: [{ filename: 'm.eml', contentType: 'message/rfc822', content }] })
  t.ok(raw.includes(`\r\n\r\n${content}\r\n--`), 'a message travels as it is')
  const invitation = await compose({
    attachments: [{ filename: 'invite.ics', contentType: 'text/calendar; method=REQUEST', content }],
  })
  t.match(invitation, /Content-Type: text\/calendar; method=REQUEST/)
  t.same(wireFaults(raw), [])
})

t.test('a filename is a name', async t => {
  for (const [given, name] of [
    ['../../etc/passwd', 'passwd'],
    ['C:\\temp\\a.txt', 'a.txt'],
    ['..', ''],
    ['a/', ''],
    [' a\tb ', 'a b'],
    ['=?utf-8?Q?a?=', '=_utf-8?Q?a?='],
    ['größe 世界.pdf', 'größe 世界.pdf'],
    ['\u3000*.txt', '_.txt'],
  ] as const)
    t.equal(attachmentFilename(given), name, given)
})

t.test('text of any form crosses the wire as 7-bit lines', async t => {
  for (const text of [
    'a\rb\r\nc\nd',
    'x'.repeat(5000),
    'ü'.repeat(5000),
    '.\n..\n',
    'From a\n',
    'a\0b',
    '\ud800x',
    'a \n\t\n',
    '\n\n',
    '世'.repeat(100_000),
  ]) {
    const raw = await compose({ text, html: `<p>${text}</p>` })
    t.same(wireFaults(raw), [], JSON.stringify(text.slice(0, 20)))
    const mail = await simpleParser(raw)
    const expected = text.toWellFormed().replaceAll('\0', '').replace(/\r\n?/g, '\n')
    t.equal(mail.text?.trimEnd(), expected.trimEnd())
  }
})

t.test('25 MB of attachments do not block the event loop', async t => {
  const content = Buffer.alloc(25 * 1024 * 1024, 'abcdefg')
  const attachments = [{ filename: 'a', contentType: 'application/zip', content }]
  const { result: raw, turns } = await turnsDuring(() => compose({ attachments }))
  t.ok(turns >= content.length / composeSliceBytes, `${turns} turns`)
  t.ok(raw.length > (content.length * 4) / 3)
})

const scripts = [
  ' abcdefghijklmnopqrstuvwxyzABCDEFG',
  ` !"#$%&'()*+,-./:;<=>?@[\\]^_\`{|}~`,
  'äöüßéèñçåøæœ łžőř',
  'абвгд ежзийклмн',
  'αβγδ εζηθικλ',
  'שלום עולם',
  'مرحبا بالعالم',
  'नमस्ते दुनिया',
  '世界你好 漢字かなカナ',
  '한국어 테스트',
  'สวัสดีชาวโลก ',
  '🎉👩‍👩‍👧‍👦🇩🇪 👍🏽',
  'e\u0301a\u0308\u200d\ufe0f x',
  '\u00a0\u3000\u202e\u200b ',
]

function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

function randomText(random: () => number, lengthMax: number): string {
  const length = 1 + Math.floor(random() ** 3 * lengthMax)
  const alphabet = Array.from({ length: 1 + Math.floor(random() * 3) }, () =>
    Array.from(scripts[Math.floor(random() * scripts.length)]!),
  ).flat()
  return Array.from({ length }, () => alphabet[Math.floor(random() * alphabet.length)]!).join('')
}

t.test('500 random subjects, names and filenames come back, read by two parsers', async t => {
  const random = seeded(20261121)
  const samples = Array.from({ length: 500 }, (_, i) => ({
    subject: i % 50 === 0 ? `=?utf-8?Q?a=0D=0ABcc: b?= ${i}` : randomText(random, 400),
    name: randomText(random, 120),
    filename: `${randomText(random, 120)}.txt`,
  }))
  const raws: Buffer[] = []
  for (const { subject, name, filename } of samples) {
    raws.push(
      await compose({
        subject,
        from: { address: 'ann@example.com', name },
        attachments: [{ filename, contentType: 'application/pdf', content: Buffer.from('x') }],
      }),
    )
  }
  const single = (text: string): string => text.replace(/ +/g, ' ').replace(/^ | $/g, '')
  const expected = samples.map(({ subject, name, filename }) => ({
    subject: single(subject),
    name: single(name).replaceAll('=?', '= ?'),
    filename: attachmentFilename(filename) || 'attachment-1.pdf',
  }))
  for (const [i, raw] of raws.entries()) {
    const faults = wireFaults(raw)
    const header = raw.toString('latin1', 0, raw.indexOf('\r\n\r\n'))
    if (/^(?:Subject|From):.{71,}$|^[ \t].{78,}$/m.test(header) && !/[!-~]{50}/.test(header))
      faults.push('not folded')
    if (faults.length > 0) t.fail(`${faults}: ${header}`)
    const mail: ParsedMail = await simpleParser(raw)
    const found = {
      subject: mail.subject ?? '',
      name: mail.from?.value[0]?.name ?? '',
      filename: mail.attachments[0]?.filename,
    }
    if (JSON.stringify(found) !== JSON.stringify(expected[i])) t.same(found, expected[i], `mailparser ${i}`)
  }
  t.pass('mailparser')
  const python = await readWithPython(raws)
  if (!python) {
    t.pass('Python', { skip: 'needs python3' })
    return
  }
  for (const [i, found] of python.entries()) {
    if (JSON.stringify(found) !== JSON.stringify(expected[i])) t.same(found, expected[i], `Python ${i}`)
  }
  t.pass('Python')
})

function addresses(field: AddressObject | undefined): string[] {
  return field?.value.map(({ address }) => address ?? '') ?? []
}

// Names are read with the older half of Python's email, whose newer one puts spaces between encoded words of a phrase.
const script = `
import sys, json, base64
from email import message_from_bytes, policy
from email.header import decode_header, make_header
from email.utils import getaddresses
for line in sys.stdin:
    raw = base64.b64decode(line)
    m = message_from_bytes(raw, policy=policy.default)
    a = next(m.iter_attachments())
    [(name, address)] = getaddresses([message_from_bytes(raw)['from'].replace('\\r\\n', '')])
    assert address == 'ann@example.com', address
    print(json.dumps({
        'subject': str(m['subject'] or ''),
        'name': str(make_header(decode_header(name))),
        'filename': a.get_filename()}))
`

async function readWithPython(raws: readonly Buffer[]): Promise<unknown[] | undefined> {
  const child = execFile('python3', ['-c', script], { maxBuffer: 64 * 1024 * 1024 })
  let output = ''
  let errors = ''
  child.stdout?.on('data', chunk => {
    output += chunk
  })
  child.stderr?.on('data', chunk => {
    errors += chunk
  })
  child.stdin?.on('error', () => {})
  child.stdin?.end(raws.map(raw => `${raw.toString('base64')}\n`).join(''))
  try {
    const [code] = await once(child, 'close')
    if (code !== 0) throw new Error(errors)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
  return output
    .trim()
    .split('\n')
    .map(line => JSON.parse(line))
}
