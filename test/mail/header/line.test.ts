import t from 'tap'
import { lineAt } from '../../../lib/mail/header/line.ts'

t.test('what a line can be in a header, and where it and the next one begin', async t => {
  const lines = (text: string) => {
    const bytes = Buffer.from(text)
    const found = []
    for (let line = lineAt(bytes, 0); line; line = lineAt(bytes, line.next))
      found.push([line.kind, text.slice(line.start, line.end), line.next])
    return found
  }
  t.strictSame(lines(''), [])
  t.strictSame(lines('A: b\r\n c\r\n \t\r\nno field\r\n\r\n'), [
    ['field', 'A: b', 6],
    ['folded', ' c', 10],
    ['blank', ' \t', 14],
    ['other', 'no field', 24],
    ['empty', '', 26],
  ])
  t.strictSame(lines('\nA: b'), [
    ['empty', '', 1],
    ['field', 'A: b', 5],
  ])
  t.strictSame(lines('A: b\nC: d\r'), [
    ['field', 'A: b', 5],
    ['field', 'C: d', 10],
  ])
})
