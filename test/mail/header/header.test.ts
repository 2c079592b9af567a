import t from 'tap'
import {
  countReceived,
  fieldValues,
  findHeaderFault,
  headerBytes,
  headerLines,
  lastField,
  readHeader,
} from '../../../lib/mail/header/header.ts'
import { singleLine } from '../../../lib/mail/header/text.ts'
import { manyTimes } from '../../support/hostile.ts'

t.test('fields in order, unfolded', async t => {
  const raw = Buffer.from(
    'Received: from a\r\n\tby b\r\nSubject: one\r\n  two\r\nX-Odd : spaced\r\nno field here\r\nReceived:from c\r\nEmpty:\r\n\r\nSubject: body\r\n',
  )
  const header = readHeader(raw)
  t.same(
    header.fields.map(({ name, value }) => [name, value]),
    [
      ['Received', 'from a\tby b'],
      ['Subject', 'one  two'],
      ['X-Odd', 'spaced'],
      ['Received', 'from c'],
      ['Empty', ''],
    ],
  )
  t.equal(raw.subarray(header.bodyOffset).toString(), 'Subject: body\r\n')
  t.equal(countReceived(header), 2)
  t.same(fieldValues(header, 'received'), ['from a\tby b', 'from c'])
  t.equal(lastField(header, 'subject'), 'one  two')
  t.equal(lastField(header, 'date'), undefined)
})

t.test('other line ends, and sections without a body', async t => {
  t.equal(readHeader(Buffer.from('A: b\nC: d\n\nx')).bodyOffset, 11)
  t.same(readHeader(Buffer.from('A: b')), {
    fields: [{ name: 'A', lowerName: 'a', value: 'b', isUtf8: true, start: 0, valueStart: 2, end: 4 }],
    bodyOffset: 4,
  })
  t.same(readHeader(Buffer.from('\r\nA: b\r\n')), { fields: [], bodyOffset: 2 })
  t.same(readHeader(new Uint8Array()), { fields: [], bodyOffset: 0 })
  t.same(readHeader(Buffer.from(' folded from nothing\r\n\r\n')).fields, [])
})

t.test('what real mail does to a header', async t => {
  const cases: readonly (readonly [string, string, readonly string[], string])[] = [
    ['the envelope of an mbox', 'From a@b Mon Jan 1\nA: b\n\nbody', ['a=b'], 'body'],
    ['the same in another mbox', '>From a@b Mon Jan 1\r\nA: b\r\n\r\nbody', ['a=b'], 'body'],
    ['the envelope before a line that is no field', 'From a@b Mon\r\nx\r\nA: b\r\n\r\nbody', ['a=b'], 'body'],
    ['that of another mbox before one', '>From a@b Mon\r\nx\r\nA: b\r\n\r\nbody', ['a=b'], 'body'],
    [
      'only on the first line',
      'A: b\r\nFrom a@b Mon\r\nhello\r\n\r\n',
      ['a=b'],
      'From a@b Mon\r\nhello\r\n\r\n',
    ],
    ['no empty line', 'A: b\r\nSGVsbG8=\r\nSGVsbG8=\r\n', ['a=b'], 'SGVsbG8=\r\nSGVsbG8=\r\n'],
    ['no empty line before one line', 'A: b\r\nSGVsbG8=', ['a=b'], 'SGVsbG8='],
    ['a line of white space in its place', 'A: b\r\n \t\r\nhello body\r\n', ['a=b'], 'hello body\r\n'],
    ['a line of white space in a field', 'A: b\r\n \r\n c\r\nD: e\r\n\r\nx', ['a=b  c', 'd=e'], 'x'],
    ['a line of white space at the end', 'A: b\r\n \r\n\r\nx', ['a=b'], 'x'],
    ['a line broken too early', 'A: b\r\nand more\r\n still\r\nTo: d\r\n\r\nx', ['a=b', 'to=d'], 'x'],
    ['a parameter without its white space', 'A: b;\r\nname=c;\r\nd=e\r\n\r\nx', ['a=b;name=c;d=e'], 'x'],
    [
      'two lines of a Received that lost their white space',
      'Received: a by b\r\nwith SMTP\r\nfrom c by d\r\nFrom: a@b\r\n\r\nx',
      ['received=a by b', 'from=a@b'],
      'x',
    ],
    ['a greeting in the place of the empty line', 'A: b\r\nHello\r\n\r\nx', ['a=b'], 'Hello\r\n\r\nx'],
    [
      'a text with a colon in the place of the empty line',
      'A: b\r\nHello\r\nNote: c\r\nand so: on\r\n',
      ['a=b'],
      'Hello\r\nNote: c\r\nand so: on\r\n',
    ],
    ['white space before a text with a colon', 'A: b\r\n \r\nNote: c\r\n\r\nx', ['a=b'], 'Note: c\r\n\r\nx'],
    [
      'the boundary that was just declared',
      'Content-Type: multipart/mixed; boundary="a:b"\r\n--a:b\r\nTo: c\r\n\r\nx',
      ['content-type=multipart/mixed; boundary="a:b"'],
      '--a:b\r\nTo: c\r\n\r\nx',
    ],
    ['no header at all', 'hello\r\n\r\nx', [], 'hello\r\n\r\nx'],
    ['white space before the colon', 'A \t: b\r\n\r\nx', ['a=b'], 'x'],
    ['a name that is none', '\x01A: b\r\nC: d\r\n\r\nx', ['c=d'], 'x'],
    ['a carriage return alone', 'A: b\rC: d\r\n\r\nx', ['a=b\rC: d'], 'x'],
  ]
  for (const [name, raw, fields, body] of cases) {
    const header = readHeader(Buffer.from(raw))
    t.same(
      header.fields.map(({ lowerName, value }) => `${lowerName}=${value}`),
      fields,
      name,
    )
    t.equal(raw.slice(header.bodyOffset), body, `${name}: the body`)
  }
})

t.test('where a field stands', async t => {
  const raw = 'From a\r\nA : b\r\n  c\r\nnone\r\nTo:e\n\nbody'
  const spans = readHeader(Buffer.from(raw)).fields.map(({ start, valueStart, end }) => [
    raw.slice(start, end),
    raw.slice(valueStart, end),
  ])
  t.same(spans, [
    ['A : b\r\n  c\r\n', ' b\r\n  c\r\n'],
    ['To:e\n', 'e\n'],
  ])
})

t.test('no more is read than the bounds say, and that is said', async t => {
  const raw = Buffer.from('A: 1\r\nB: 2\r\n 3\r\nC: 4\r\n\r\nbody')
  const read = (bytes: number, lines: number) => {
    const { fields, bodyOffset, fault } = readHeader(raw, { bytes, lines })
    t.equal(raw.subarray(bodyOffset).toString(), 'body', 'the body is found')
    return [fields.map(({ lowerName }) => lowerName).join(''), fault]
  }
  t.same(read(100, 100), ['abc', undefined])
  t.same(read(14, 100), ['a', 'more than 14 bytes'], 'a field that is cut is none')
  t.same(read(17, 100), ['ab', 'more than 17 bytes'])
  t.same(read(100, 3), ['ab', 'more than 3 lines'])
})

t.test('a header of many lines that are no fields is read in a moment', async t => {
  for (const head of ['X-A: b;\n', 'Content-Type: multipart/mixed; boundary=abc;\n']) {
    for (const lines of [
      'x y\nX-A: b\n',
      ' \nX-A: b\n',
      '--x\nX-A: b\n',
      '--x: b\n',
      '--a=b;\nX-A: b\n',
      '-a=b;\n',
    ]) {
      const raw = Buffer.from(`${head}${lines.repeat(manyTimes / 10)}\n`)
      const { bodyOffset } = readHeader(raw, { bytes: raw.length, lines: manyTimes })
      t.equal(bodyOffset, raw.length, `${head} | ${lines}`)
    }
  }
})

t.test('a line with two hyphens continues no field before it', async t => {
  const raw = Buffer.from('Content-Type: multipart/mixed; boundary="a=b";\n--a=b\n\npart')
  t.equal(readHeader(raw).bodyOffset, raw.indexOf('--a=b'))
})

t.test('bytes beyond ASCII', async t => {
  const header = readHeader(
    Buffer.concat([Buffer.from('A: h\u00f6r\r\nB: '), Buffer.from([0xe4, 0xf6]), Buffer.from('\r\n\r\n')]),
  )
  t.equal(lastField(header, 'a'), 'hör', 'UTF-8')
  t.equal(lastField(header, 'b'), 'äö', 'what is not UTF-8 is Latin-1, in another field')
})

t.test('a header that is too large', async t => {
  const filled = (bytes: number) => {
    const lines = 'X: yyyyyy'
      .padEnd(200, 'y')
      .concat('\r\n')
      .repeat(bytes / 202 - 1)
    return `${lines}Z:${'z'.repeat(bytes - lines.length - 4)}\r\n`
  }
  const body = 'x'.repeat(100_000)
  t.equal(findHeaderFault(Buffer.from(`${filled(headerBytes)}\r\n${body}`)), undefined)
  t.match(findHeaderFault(Buffer.from(`${filled(headerBytes + 1)}\r\n${body}`)), /262144 bytes/)
  t.match(findHeaderFault(Buffer.from(filled(headerBytes + 1))), /bytes/)
  t.equal(findHeaderFault(Buffer.from(`${'A: b\r\n'.repeat(headerLines)}\r\n${body}`)), undefined)
  t.match(findHeaderFault(Buffer.from(`A: b\r\n${' c\r\n'.repeat(headerLines)}\r\n`)), /5000 lines/)
  t.match(findHeaderFault(Buffer.from(`${'A: b\r\n'.repeat(headerLines)}C: d`)), /lines/, 'without line end')
  t.match(findHeaderFault(Buffer.alloc(25_000_000, 'x')), /bytes/)
  t.equal(
    findHeaderFault(Buffer.from(`A: b\r\n\r\n${'\r\n'.repeat(50_000)}`)),
    undefined,
    'a body of many lines',
  )
})

t.test('text for one line', async t => {
  t.equal(singleLine('a\r\nBcc: b\0\u0007'), 'a Bcc: b')
})
