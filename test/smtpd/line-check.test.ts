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

function isBroken(chunks: readonly Buffer[]): boolean {
  const check = createLineCheck()
  return chunks.map(chunk => check.see(chunk)).at(-1)!
}

t.test('a bare CR or LF is found wherever the chunks are cut', async t => {
  const sound = ['\r\n', 'a\r\n', 'a\r\nb\r\n', '\r\n\r\n\r\n', 'abc', '.\r\n.\r\n', '\0\r\n\x0b\r\n']
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
    [sound, false],
    [broken, true],
  ] as const) {
    for (const text of texts) {
      for (const chunks of cuts(text)) {
        count++
        if (isBroken(chunks) !== expected) t.fail(JSON.stringify(chunks.map(String)))
      }
    }
  }
  t.ok(count > 2000, `${count} ways`)
})

t.test('once broken, always broken', async t => {
  const check = createLineCheck()
  t.notOk(check.see(Buffer.from('fine\r')))
  t.ok(check.see(Buffer.from('x')))
  t.ok(check.see(Buffer.from('fine\r\n')))
  t.ok(check.see(Buffer.alloc(0)))
})
