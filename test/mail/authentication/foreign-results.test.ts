import t from 'tap'
import { withoutForeignResults } from '../../../lib/mail/authentication/foreign-results.ts'
import { manyTimes } from '../../support/hostile.ts'

const host = 'mail.ours.example'
const kept = (...lines: string[]) => withoutForeignResults(Buffer.from(lines.join('')), host).kept.toString()

t.test(
  'results that say that they are of this host are left out, however they are written (RFC 8601 §5)',
  async t => {
    for (const claim of [
      'Authentication-Results: mail.ours.example; dmarc=pass\r\n',
      'authentication-results:\r\n\tMAIL.Ours.Example.\r\n\t; dmarc=pass\r\n',
      'Authentication-Results: "mail.ours\\.example" 1; dmarc=pass\r\n',
      'Authentication-Results: (a comment (in it)) mail.ours.example/1; none\r\n',
      'Authentication-Results : mail.ours.example; dmarc=pass\n',
      // Whose they are is not said.
      'Authentication-Results: ; dmarc=pass\r\n',
    ])
      t.equal(
        kept('From: a@b.example\r\n', claim, 'Subject: s\r\n\r\n'),
        'From: a@b.example\r\nSubject: s\r\n\r\n',
        claim,
      )
  },
)

t.test("others' results, other fields and the body stay, byte for byte", async t => {
  const whole = [
    'Authentication-Results: theirs.example; dmarc=pass\r\n',
    'Authentication-Results: not-mail.ours.example; dmarc=pass\r\n',
    'ARC-Authentication-Results: i=1; mail.ours.example; dmarc=pass\r\n',
    'X: \xff\r\n folded\r\n',
    '\r\n',
  ]
  const body = 'Authentication-Results: mail.ours.example; dmarc=pass\r\n'
  const start = Buffer.from([...whole, body].join(''), 'latin1')
  const found = withoutForeignResults(start, host)
  t.equal(found.kept.toString('latin1'), whole.join(''))
  t.equal(found.sectionBytes, start.length - body.length)
})

t.test('a hostile header costs no time', async t => {
  for (const text of ['Authentication-Results: (', 'Authentication-Results: "\\', '\n ', 'a:\n'])
    t.ok(kept(text.repeat(manyTimes)).length >= 0, text)
})
