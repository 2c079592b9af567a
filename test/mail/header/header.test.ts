import t from 'tap'
import { limits } from '../../../lib/base/limits.ts'
import {
  countReceived,
  fieldValues,
  findHeaderFault,
  firstField,
  readHeader,
} from '../../../lib/mail/header/header.ts'
import { singleLine } from '../../../lib/mail/header/text.ts'

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
  t.equal(firstField(header, 'subject'), 'one  two')
  t.equal(firstField(header, 'date'), undefined)
})

t.test('other line ends, and sections without a body', async t => {
  t.equal(readHeader(Buffer.from('A: b\nC: d\n\nx')).bodyOffset, 11)
  t.same(readHeader(Buffer.from('A: b')), {
    fields: [{ name: 'A', lowerName: 'a', value: 'b' }],
    bodyOffset: 4,
  })
  t.same(readHeader(Buffer.from('\r\nA: b\r\n')), { fields: [], bodyOffset: 2 })
  t.same(readHeader(new Uint8Array()), { fields: [], bodyOffset: 0 })
  t.same(readHeader(Buffer.from(' folded from nothing\r\n\r\n')).fields, [])
})

t.test('bytes beyond ASCII', async t => {
  const header = readHeader(
    Buffer.concat([Buffer.from('A: h\u00f6r\r\nB: '), Buffer.from([0xe4, 0xf6]), Buffer.from('\r\n\r\n')]),
  )
  t.equal(firstField(header, 'a'), 'hör', 'UTF-8')
  t.equal(firstField(header, 'b'), 'äö', 'what is not UTF-8 is Latin-1, in another field')
})

t.test('a header that is too large', async t => {
  const filled = (bytes: number) => {
    const lines = 'X: yyyyyy'
      .padEnd(60, 'y')
      .concat('\r\n')
      .repeat(bytes / 62 - 1)
    return `${lines}Z:${'z'.repeat(bytes - lines.length - 4)}\r\n`
  }
  const body = 'x'.repeat(100_000)
  t.equal(findHeaderFault(Buffer.from(`${filled(limits.headerBytes)}\r\n${body}`)), undefined)
  t.match(findHeaderFault(Buffer.from(`${filled(limits.headerBytes + 1)}\r\n${body}`)), /65536 bytes/)
  t.match(findHeaderFault(Buffer.from(filled(limits.headerBytes + 1))), /bytes/)
  t.equal(findHeaderFault(Buffer.from(`${'A: b\r\n'.repeat(limits.headerLines)}\r\n${body}`)), undefined)
  t.match(findHeaderFault(Buffer.from(`A: b\r\n${' c\r\n'.repeat(limits.headerLines)}\r\n`)), /2000 lines/)
  t.match(
    findHeaderFault(Buffer.from(`${'A: b\r\n'.repeat(limits.headerLines)}C: d`)),
    /lines/,
    'without line end',
  )
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
