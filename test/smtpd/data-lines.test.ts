import { PassThrough } from 'node:stream'
import t from 'tap'
import { createDataLines } from '../../lib/smtpd/data-lines.ts'
import { manyTimes } from '../support/hostile.ts'
import { greetedDialog } from '../support/smtp-dialog.ts'
import { openDoor } from '../support/smtp-door.ts'

/** What is the message in these bytes, and what comes after it, as RFC 5321 §4.5.2 has it, line by line. */
function expected(bytes: string): { content: string; rest: string | undefined } {
  let content = ''
  for (let at = 0; at < bytes.length; ) {
    const end = bytes.indexOf('\r\n', at)
    const line = end < 0 ? bytes.slice(at) : bytes.slice(at, end + 2)
    at += line.length
    if (line === '.\r\n') return { content, rest: bytes.slice(at) }
    content += line.startsWith('.') ? line.slice(1) : line
  }
  return { content, rest: undefined }
}

function taken(bytes: string, cuts: readonly number[]): { content: string; rest: string | undefined } {
  const lines = createDataLines()
  let content = ''
  let from = 0
  for (const to of [...cuts, bytes.length]) {
    const result = lines.take(Buffer.from(bytes.slice(from, to), 'latin1'))
    content += result.content.toString('latin1')
    if (result.rest) return { content, rest: result.rest.toString('latin1') + bytes.slice(to) }
    from = to
  }
  return { content, rest: undefined }
}

t.test('lines are the same however they come', async t => {
  const letters = ['.', '\r', '\n', 'x']
  const texts = Array.from({ length: 4 ** 7 }, (_, number) =>
    Array.from({ length: 7 }, (_, place) => letters[Math.floor(number / 4 ** place) % 4]).join(''),
  )
  for (const text of texts) {
    const bytes = `${text}\r\n.\r\nQUIT\r\n`
    const all = expected(bytes)
    for (let cut = 0; cut <= bytes.length; cut++) {
      if (JSON.stringify(taken(bytes, [cut])) !== JSON.stringify(all)) t.fail(JSON.stringify([text, cut]))
    }
    const each = Array.from({ length: bytes.length }, (_, at) => at)
    if (JSON.stringify(taken(bytes, each)) !== JSON.stringify(all)) t.fail(JSON.stringify(text))
  }
})

t.test('a message of lines that begin with dots comes in no more chunks than it was sent in', async t => {
  const { port, inbox, messages, raw } = await openDoor(t)
  await inbox('ann')
  const dialog = await greetedDialog(port)
  const writes: number[] = []
  const write = PassThrough.prototype.write
  t.intercept(PassThrough.prototype, 'write', {
    value(this: object, ...given: Parameters<typeof write>) {
      writes.push((given[0] as Buffer).length)
      return write.apply(this as never, given)
    },
  })
  await dialog.envelope('bob@example.net', 'ann@ours.example')
  const line = '..\r\n'
  t.match(await dialog.data(`Subject: dots\r\n\r\n${line.repeat(manyTimes)}x`), { code: 250 })
  const stored = await raw((await messages())[0]!)
  t.equal(stored.length, 'Subject: dots\r\n\r\nx\r\n'.length + 3 * manyTimes)
  t.ok(writes.length > 0 && writes.length < 4000, `${writes.length} chunks`)
})
