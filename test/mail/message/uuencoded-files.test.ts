import t from 'tap'
import { openAttachment, readMessage } from '../../../lib/mail/message/read.ts'
import { manyTimes } from '../../support/hostile.ts'

/** As uuencode(1) writes it. */
function uuencoded(name: string, content: Buffer): string {
  const character = (bits: number) => (bits === 0 ? '`' : String.fromCharCode(bits + 32))
  const lines: string[] = []
  for (let at = 0; at < content.length; at += 45) {
    const line = content.subarray(at, at + 45)
    let text = String.fromCharCode(line.length + 32)
    for (let group = 0; group < line.length; group += 3) {
      const [a = 0, b = 0, c = 0] = line.subarray(group, group + 3)
      text += [a >> 2, ((a & 3) << 4) | (b >> 4), ((b & 15) << 2) | (c >> 6), c & 63].map(character).join('')
    }
    lines.push(text)
  }
  return `begin 644 ${name}\r\n${lines.join('\r\n')}\r\n\`\r\nend\r\n`
}

const content = Buffer.from(Array.from({ length: 1000 }, (_, at) => (at * 7) % 256))

t.test('files that stand in the text are attachments, and the text is what is around them', async t => {
  const raw = Buffer.from(
    `From: a@example.com\r\n\r\nSee these.\r\n\r\n${uuencoded('a b.bin', content)}\r\nand\r\n${uuencoded('c.txt', Buffer.from('hi'))}Bye\r\n`,
    'latin1',
  )
  const { text, attachments } = readMessage(raw)
  t.same(text.split('\n').filter(Boolean), ['See these.', 'and', 'Bye'])
  t.match(attachments, [
    { filename: 'a b.bin', sizeBytes: content.length },
    { filename: 'c.txt', sizeBytes: 2 },
  ])
  t.same(openAttachment(raw, 0)?.content, content)
  t.same(openAttachment(raw, 1)?.content, Buffer.from('hi'))
})

t.test('what only begins like one is text', async t => {
  for (const body of [
    'begin 644 things\r\nand end\r\n',
    'begin 644 a.bin\r\nM not as long as it says\r\nend\r\n',
    'begin 644 a.bin\r\nend\r\n',
    `begin 644 a.bin\r\n${uuencoded('x', content).split('\r\n').slice(1, 5).join('\r\n')}\r\n`,
  ]) {
    const { text, attachments } = readMessage(Buffer.from(`From: a@example.com\r\n\r\n${body}`))
    t.equal(text, body.replaceAll('\r\n', '\n'))
    t.same(attachments, [])
  }
})

t.test('whatever it is, it is read in a moment', async t => {
  for (const body of [
    'begin 644 a\r\n',
    'begin 644 a\r\n#````\r\n',
    'begin ',
    '\r\nbegin 644 a\r\n``\r\nend\r\n',
  ]) {
    t.type(
      readMessage(Buffer.from(`From: a@example.com\r\n\r\n${body.repeat(manyTimes / 10)}`)).text,
      'string',
    )
  }
})
