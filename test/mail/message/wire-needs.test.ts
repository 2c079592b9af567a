import t from 'tap'
import { headerBytes } from '../../../lib/mail/header/header.ts'
import { wireNeedsOf } from '../../../lib/mail/message/wire-needs.ts'

/** The same bytes at once and one by one. */
async function needsOf(bytes: Buffer) {
  const whole = await wireNeedsOf([bytes])
  const pieces = Array.from(bytes, byte => Buffer.from([byte]))
  return { whole, pieces: bytes.length < 1000 ? await wireNeedsOf(pieces) : whole }
}

t.test('what the bytes of a message ask of a server', async t => {
  const cases: [name: string, bytes: Buffer, is8Bit: boolean, isUtf8: boolean][] = [
    ['ASCII', Buffer.from('Subject: x\r\n\r\nx\r\n'), false, false],
    ['an 8-bit body', Buffer.from('Subject: x\r\n\r\ngrüße\r\n'), true, false],
    ['a UTF-8 header', Buffer.from('Subject: grüße\r\n\r\nx\r\n'), true, true],
    ['a Latin-1 header', Buffer.from('Subject: gr\xfc\xdfe\r\n\r\nx\r\n', 'latin1'), true, false],
    ['a header alone', Buffer.from('Subject: grüße\r\n'), true, true],
    ['an empty header', Buffer.from('\r\n\r\ngrüße\r\n'), true, false],
    ['nothing', Buffer.alloc(0), false, false],
    ['a long header', Buffer.from(`X: ${'x'.repeat(headerBytes)}\r\n\r\nü`), true, false],
  ]
  for (const [name, bytes, is8Bit, isUtf8] of cases) {
    const { whole, pieces } = await needsOf(bytes)
    t.strictSame(
      [whole, pieces],
      [
        { is8Bit, isUtf8 },
        { is8Bit, isUtf8 },
      ],
      name,
    )
  }
})
