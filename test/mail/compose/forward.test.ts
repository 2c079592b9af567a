import { execFileSync } from 'node:child_process'
import t from 'tap'
import { composeMessage } from '../../../lib/mail/compose/compose.ts'
import { forwardSubject, withForwarded } from '../../../lib/mail/compose/forward.ts'
import { quoteLength } from '../../../lib/mail/compose/quote.ts'

const original = {
  from: { address: 'ann@example.com', name: 'Ann' },
  to: [{ address: 'bob@example.net', name: '' }],
  cc: [],
  date: new Date('2026-11-03T08:05:59Z'),
  subject: 'Hi',
  text: 'Hello',
  html: null,
}

t.test('the subject says that it is passed on, once', async t => {
  for (const subject of ['Fwd: a', 'FW: a', 'fw:a', 'WG: a', 'TR : a', '转发：a'])
    t.equal(forwardSubject(subject), subject)
  for (const subject of ['a', 'Re: Fwd: a', 'Forward: a', '']) {
    t.equal(forwardSubject(subject), `Fwd: ${subject}`.trimEnd())
  }
})

t.test('what strangers wrote does not get out of its lines', async t => {
  const name = 'x\r\nTo: evil@example.org\u2028'
  const hostile = {
    ...original,
    from: { address: 'a\nb@c', name },
    subject: `s\n\n${name}`,
    cc: Array.from({ length: 1000 }, (_, i) => ({ address: `p${i}@example.net`, name: 'n'.repeat(10_000) })),
    text: 'y'.repeat(quoteLength + 1),
  }
  const { text, html } = withForwarded({ text: '', html: '<p>own</p>' }, hostile)
  const lines = text.split('\n')
  t.equal(lines.indexOf(''), 6, 'heading and five lines')
  t.notMatch(text, /^To: evil/m)
  t.ok(text.length < 2 * quoteLength)
  t.match(text, /\[…\]\n$/)
  t.ok(html!.startsWith('<p>own</p>'))
})

t.test('a message with 8-bit data is passed on as it is', async t => {
  for (const [text, encoding] of [
    ['Subject: a\r\n\r\nGrüße\r\n', '8bit'],
    ['Subject: a\r\n\r\nHello\r\n', '7bit'],
  ] as const) {
    const content = Buffer.from(text)
    const { raw } = await composeMessage({
      ...{ id: '1', messageIdDomain: 'example.com', date: original.date, from: original.from, cc: [] },
      ...{ to: original.to, replyTo: null, subject: 's', text: 't', html: null, inReplyTo: null },
      ...{ references: [], autoSubmitted: false },
      attachments: [{ filename: 'm.eml', contentType: 'message/rfc822', content }],
    })
    const at = raw.indexOf('\r\n\r\n')
    const outer = raw.subarray(0, at).toString()
    t.equal(
      /^Content-Transfer-Encoding: 8bit$/im.test(outer),
      encoding === '8bit',
      'the outer header says so, too',
    )
    t.ok(raw.includes(content), 'byte for byte')
    // As another reader finds it.
    const script = `import sys, email, email.policy
m = email.message_from_bytes(sys.stdin.buffer.read(), policy=email.policy.SMTP)
p = list(m.iter_attachments())[0]
print(p.get_content_type(), p['content-transfer-encoding'], p.get_content()['subject'])`
    t.equal(
      execFileSync('python3', ['-c', script], { input: raw }).toString().trim(),
      `message/rfc822 ${encoding} a`,
    )
  }
})
