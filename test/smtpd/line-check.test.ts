import t from 'tap'
import { createLineCheck } from '../../lib/smtpd/line-check.ts'

/** Every way to cut the text into chunks, empty ones left out. */
function* cuts(text: string): Generator<Buffer[]> {
  const bytes = Buffer.from(text, 'latin1')
  for (let mask = 0; mask < 1 << (bytes.length - 1); mask++) {
    const chunks: Buffer[] = []
    let start = 0
    for (let at = 1; at <= bytes.length; at++) {
      if (at < bytes.length && !(mask & (1 << (at - 1)))) continue
      chunks.push(bytes.subarray(start, at))
      start = at
    }
    yield chunks
  }
}

function faultOf(chunks: readonly Buffer[]) {
  const check = createLineCheck()
  return chunks.map(chunk => check.see(chunk)).at(-1)
}

t.test('a bare CR or LF, and a NUL, is found wherever the chunks are cut', async t => {
  const sound = ['\r\n', 'a\r\n', 'a\r\nb\r\n', '\r\n\r\n\r\n', 'abc', '.\r\n.\r\n', '\x01\r\n\x0b\r\n']
  const withNul = ['\0', '\0\r\n', 'a\0b\r\n', '\r\n\0', 'abc\r\n.\0\r\n']
  const broken = [
    '\n',
    '\n\r\n',
    '\r\r\n',
    '\r\n\n',
    'a\rb\r\n',
    'a\nb\r\n',
    '\n.\r\n',
    '\r\n.\n\r\n',
    '\r.\r\n',
    '\r\n\r\r\n',
    'ab\r\ncd\nef\r\n',
    'ab\r\ncd\ref\r\n',
  ]
  let count = 0
  for (const [texts, expected] of [
    [sound, undefined],
    [broken, 'bare CR or LF'],
    [withNul, 'NUL'],
  ] as const) {
    for (const text of texts) {
      for (const chunks of cuts(text)) {
        count++
        if (faultOf(chunks) !== expected) t.fail(JSON.stringify(chunks.map(String)))
      }
    }
  }
  t.ok(count > 2000, `${count} ways`)
})

t.test('once broken, always broken', async t => {
  const check = createLineCheck()
  t.equal(check.see(Buffer.from('fine\r')), undefined)
  t.equal(check.see(Buffer.from('x')), 'bare CR or LF')
  t.equal(check.see(Buffer.from('fine\0\r\n')), 'bare CR or LF')
  t.equal(check.see(Buffer.alloc(0)), 'bare CR or LF')
})
