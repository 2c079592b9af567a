import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { decodedLength, decodeTransfer } from '../../../lib/mail/message/transfer-encoding.ts'

const wrapped = (bytes: Buffer, lineLength: number, lineEnd: string) =>
  bytes.toString('base64').replace(new RegExp(`.{1,${lineLength}}`, 'g'), `$&${lineEnd}`)

t.test('what is counted is as long as what is decoded, whatever stands in it', async t => {
  const strange = [
    '',
    '=',
    '==',
    '-_',
    ' ',
    '\t',
    '\r',
    '\n',
    '!',
    '\r\n\r\n',
    'QQ==',
    'Q',
    '\r\n-- \r\nfooter\r\n',
  ]
  const lines = fc.constantFrom(4, 60, 64, 75, 76, 77, 100_000)
  const places = fc.array(fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.constantFrom(...strange)), {
    maxLength: 3,
  })
  fc.assert(
    fc.property(
      fc.constantFrom(0, 1, 2, 3, 57, 35_000, 36_479, 36_480, 100_001, 150_000),
      lines,
      fc.constantFrom('\r\n', '\n'),
      places,
      fc.boolean(),
      (size, lineLength, lineEnd, put, isInstead) => {
        let text = wrapped(randomBytes(size), lineLength, lineEnd)
        for (const [where, what] of put) {
          const at = Math.floor(where * text.length)
          text = text.slice(0, at) + what + text.slice(isInstead ? at + what.length : at)
        }
        const body = Buffer.from(text)
        return decodedLength(body, 'base64') === decodeTransfer(body, 'base64').length
      },
    ),
    { numRuns: 400 },
  )
  t.pass()
})

t.test('behind a padding another piece is read, wherever it stands', t => {
  for (const [body, text] of [
    ['QUJD', 'ABC'],
    ['QUI=\r\nQ0Q=\r\n', 'ABCD'],
    ['=QUJD', 'ABC'],
    ['QUJD=', 'ABC'],
  ] as const)
    t.equal(decodeTransfer(Buffer.from(body), 'base64').toString(), text, body)
  t.end()
})

t.test('of what is uuencoded an empty line holds nothing', t => {
  for (const lines of ['', '\n', '\r\n', '\n\r\n'])
    t.equal(
      decodeTransfer(Buffer.from(`begin 644 x\n#0V%T\n${lines}#0V%T\n\`\nend\n`), 'x-uuencode').toString(),
      'CatCat',
      JSON.stringify(lines),
    )
  t.end()
})

t.test('other encodings are counted by decoding', async t => {
  for (const encoding of ['quoted-printable', 'x-uuencode', '7bit', ''])
    t.equal(
      decodedLength(Buffer.from('a=20b\r\n'), encoding),
      decodeTransfer(Buffer.from('a=20b\r\n'), encoding).length,
      encoding,
    )
})
