import t from 'tap'
import { openAttachment, openAttachments, readMessage } from '../../../lib/mail/message/read.ts'
import { manyTimes } from '../../support/hostile.ts'

/** One element of DER. */
function der(tag: number, ...contents: readonly Buffer[]): Buffer {
  const content = Buffer.concat(contents)
  const length = Buffer.alloc(4)
  length.writeUInt32BE(content.length)
  const head = content.length < 0x80 ? [tag, content.length] : [tag, 0x84, ...length]
  return Buffer.concat([Buffer.from(head), content])
}

/** The same with an indefinite length. */
function ber(tag: number, ...contents: readonly Buffer[]): Buffer {
  return Buffer.concat([Buffer.from([tag, 0x80]), ...contents, Buffer.alloc(2)])
}

const oid = (last: number) => der(0x06, Buffer.from([0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, last]))
const [version, algorithms, signers] = [der(0x02, Buffer.from([1])), der(0x31), der(0x31)]

/** CMS around what stands as its content; with certificates of 200 bytes behind it. */
function cms(octets: Buffer, { element = der, type = 2, contentType = 1 } = {}): Buffer {
  const content = element(0x30, oid(contentType), element(0xa0, octets))
  const certificates = der(0xa0, Buffer.alloc(200, 0x30))
  return element(
    0x30,
    oid(type),
    element(0xa0, element(0x30, version, algorithms, content, certificates, signers)),
  )
}

const octets = (text: string | Buffer) => der(0x04, Buffer.from(text as Buffer))
const entity = 'Content-Type: text/plain; charset=utf-8\r\n\r\nBring the lamp ✓\r\n'
const nested = [
  'Content-Type: multipart/mixed; boundary=b',
  '',
  '--b',
  'Content-Type: multipart/alternative; boundary=c',
  '',
  '--c',
  'Content-Type: text/plain',
  '',
  'Bring the lamp ✓',
  '--c',
  'Content-Type: text/html',
  '',
  '<p>Bring the <b>lamp</b></p>',
  '--c--',
  '--b',
  'Content-Type: application/pdf; name=plan.pdf',
  'Content-Transfer-Encoding: base64',
  '',
  'JVBERi0=',
  '--b--',
  '',
].join('\r\n')

const typeField =
  'Content-Type: application/pkcs7-mime; smime-type=signed-data; name=smime.p7m\r\nContent-Disposition: attachment; filename=smime.p7m\r\n'
const inBinary = (content: Buffer, type = typeField) =>
  Buffer.concat([
    Buffer.from(`From: ann@example.com\r\n${type}Content-Transfer-Encoding: binary\r\n\r\n`),
    content,
  ])
function inBase64(content: Buffer, { lineEnd = '\r\n', type = typeField, more = '' } = {}): Buffer {
  const lines = content.toString('base64').replace(/.{1,64}/g, `$&${lineEnd}`)
  return Buffer.from(
    `From: ann@example.com\r\n${type}Content-Transfer-Encoding: base64\r\n\r\n${lines}${more}`,
  )
}

const names = (raw: Buffer) => readMessage(raw).attachments.map(({ filename }) => filename)

t.test('the text inside opaque S/MIME is the text of the message', async t => {
  const pieces = [octets(entity.slice(0, 30)), octets(entity.slice(30))]
  const octetType = 'Content-Type: application/octet-stream; name="Signed.P7M"\r\n'
  const oldType = 'Content-Type: application/x-pkcs7-mime\r\n'
  for (const [label, raw] of Object.entries({
    base64: inBase64(cms(octets(entity))),
    'lines that end in LF': inBase64(cms(octets(entity)), { lineEnd: '\n' }),
    'empty lines': inBase64(cms(octets(entity)), { lineEnd: '\r\n\r\n' }),
    'the footer of a list': inBase64(cms(octets(entity)), { more: '\r\n-- \r\nTo unsubscribe, write.\r\n' }),
    binary: inBinary(cms(octets(entity))),
    'x-pkcs7-mime': inBase64(cms(octets(entity)), { type: oldType }),
    'a name alone': inBase64(cms(octets(entity)), { type: octetType }),
    'indefinite lengths': inBase64(cms(octets(entity), { element: ber })),
    pieces: inBase64(cms(der(0x24, ...pieces))),
    'pieces of indefinite length': inBase64(cms(ber(0x24, ...pieces), { element: ber })),
    'pieces of pieces': inBase64(cms(ber(0x24, der(0x24, pieces[0]!), ber(0x24, pieces[1]!)))),
    'without its last certificates': inBinary(cms(octets(entity)).subarray(0, -100)),
    'signed twice': inBase64(cms(octets(inBase64(cms(octets(entity)))))),
  })) {
    const { text, attachments, problems } = readMessage(raw)
    t.equal(text.trim(), 'Bring the lamp ✓', label)
    t.equal(attachments.length, label === 'signed twice' ? 2 : 1, `${label}: stays an attachment`)
    t.strictSame(problems, [], label)
  }
})

t.test('the HTML and the attachments inside opaque S/MIME are those of the message', async t => {
  const p7m = cms(octets(nested))
  const raw = inBase64(p7m)
  const { text, html, attachments } = readMessage(raw)
  t.equal(text.trim(), 'Bring the lamp ✓')
  t.match(html, '<b>lamp</b>')
  t.match(attachments, [
    { filename: 'smime.p7m', contentType: 'application/pkcs7-mime', sizeBytes: p7m.length },
    { filename: 'plan.pdf', contentType: 'application/pdf', sizeBytes: 5 },
  ])
  t.strictSame(openAttachment(raw, 0)?.content, p7m)
  t.equal(openAttachment(raw, 1)?.content.toString(), '%PDF-')
  t.equal(openAttachments(raw).length, 2)
  const head = Buffer.from('Content-Type: multipart/mixed; boundary=list\r\n\r\n--list\r\n')
  const footer = Buffer.from('\r\n--list\r\nContent-Type: text/plain\r\n\r\nA list\r\n--list--\r\n')
  t.match(readMessage(Buffer.concat([head, raw, footer])).text, /lamp ✓\s+A list/, 'as one part of several')
})

t.test('S/MIME that cannot be read without a key, or not at all, is an attachment', async t => {
  const many = (head: readonly number[], count: number) =>
    Buffer.alloc(head.length * count, Buffer.from(head))
  const inside = many([0x30, 0x80], 10_000)
  for (const [label, content] of Object.entries({
    'enveloped-data': cms(octets(entity), { type: 3 }),
    'another content type': cms(octets(entity), { contentType: 3 }),
    'a detached signature': der(
      0x30,
      oid(2),
      der(0xa0, der(0x30, version, algorithms, der(0x30, oid(1)), der(0xa0, der(0x30)), signers)),
    ),
    'a signed invoice': cms(octets('<?xml version="1.0"?>\r\n<Invoice>1</Invoice>\r\n')),
    'text that is cut': cms(octets(entity)).subarray(0, 70),
    'a piece that is longer than its string': cms(
      Buffer.concat([Buffer.from([0x24, 0x03, 0x04, 0x20]), Buffer.from(entity)]),
    ),
    'an end of contents in a definite length': cms(der(0x24, Buffer.alloc(2))),
    'a length of 127 bytes': Buffer.from([0x30, 0xff, 1, 2]),
    'a length that is cut': Buffer.from([0x30, 0x84, 1]),
    '10,000 nested sequences': many([0x30, 0x80], 10_000),
    '10,000 nested sequences inside': der(0x30, oid(2), der(0xa0, der(0x30, version, ber(0x31, inside)))),
    '10,000 nested strings': cms(many([0x24, 0x80], 10_000)),
    'a million empty pieces': cms(ber(0x24, many([0x04, 0x00], manyTimes))),
    'no CMS': Buffer.from('Hello'),
    nothing: Buffer.alloc(0),
  })) {
    const raw = inBinary(content)
    t.strictSame(names(raw), ['smime.p7m'], label)
    t.equal(readMessage(raw).text, '', label)
    t.strictSame(openAttachments(raw), [content], `${label}: its bytes`)
  }
})

t.test('every beginning of an opaque S/MIME message is read without a failure', async t => {
  for (const element of [der, ber]) {
    const content = cms(ber(0x24, octets(entity)), { element })
    for (let length = 0; length < content.length; length++) {
      const raw = inBinary(content.subarray(0, length))
      t.equal(names(raw).length, 1)
    }
  }
})

t.test('signatures in one another, and many parts with them, are bounded', async t => {
  let deep = Buffer.from(entity)
  for (let depth = 0; depth < 10; depth++) deep = inBinary(cms(octets(deep)))
  const { text, attachments } = readMessage(deep)
  t.equal(text, '')
  t.equal(attachments.length, 4, 'three are opened, the fourth is an attachment only')
  const parts = Array.from({ length: 200 }, () => '--b\r\nContent-Type: application/x-x\r\n\r\nx\r\n').join(
    '',
  )
  const many = cms(octets(`Content-Type: multipart/mixed; boundary=b\r\n\r\n${parts}--b--\r\n`))
  const outer = Array.from({ length: 20 }, () => ['\r\n--o\r\n', inBinary(many)]).flat()
  const head = 'Content-Type: multipart/mixed; boundary=o\r\n\r\n'
  const raw = Buffer.concat([Buffer.from(head), ...outer.map(piece => Buffer.from(piece as Buffer))])
  t.ok(readMessage(raw).attachments.length <= 1300)
})
