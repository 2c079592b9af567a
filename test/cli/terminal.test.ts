import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import t from 'tap'
import { printableBytes } from '../../lib/cli/terminal.ts'

const shown = async (chunks: readonly Buffer[]) =>
  (await buffer(Readable.from(chunks, { objectMode: false }).pipe(printableBytes()))).toString('utf8')

t.test('bytes are shown the same wherever a chunk ends in them', async t => {
  const cases: [bytes: Buffer, text: string][] = [
    [Buffer.from('Grüße €\u{1f600}\r\n\tx\r\n'), 'Grüße €\u{1f600}\r\n\tx\r\n'],
    [
      Buffer.from('\x1b]0;x\x07\r\x1b[2J\u202e\u009b31m\x7f\r'),
      '\\x1b]0;x\\x07\\r\\x1b[2J\\u202e\\x9b31m\\x7f\\r',
    ],
    [Buffer.from([0x61, 0xff, 0xc3, 0x28, 0xe2, 0x82, 0x62, 0x9b]), 'a\\xff\\xc3(\\xe2\\x82b\\x9b'],
    [
      Buffer.from([0xed, 0xa0, 0x80, 0xc0, 0x80, 0xf5, 0x80, 0x80, 0x80]),
      '\\xed\\xa0\\x80\\xc0\\x80\\xf5\\x80\\x80\\x80',
    ],
    [Buffer.from([0xe2, 0x82]), '\\xe2\\x82'],
    [Buffer.alloc(0), ''],
  ]
  for (const [bytes, text] of cases) {
    for (let at = 0; at <= bytes.length; at++) {
      t.equal(await shown([bytes.subarray(0, at), bytes.subarray(at)].filter(one => one.length > 0)), text)
    }
    t.equal(await shown([...bytes].map(one => Buffer.from([one]))), text, 'byte by byte')
  }
})
