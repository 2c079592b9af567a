import t from 'tap'
import { mendSubmitted } from '../../../lib/mail/compose/submitted.ts'

const mending = {
  author: 'ann@ours.example',
  messageId: '<new@ours.example>',
  date: new Date('2026-01-02T03:04:05.000Z'),
  received: 'Received: by mail.ours.example;\r\n\tnow\r\n',
}
const mend = (text: string) => mendSubmitted(Buffer.from(text.replaceAll('\n', '\r\n')), mending)
const mended = (text: string) => {
  const result = mend(text)
  if ('refusal' in result) throw new Error(result.refusal)
  return { ...result, text: result.raw.toString().replaceAll('\r\n', '\n') }
}

t.test('what is missing is added, blind copies are taken off, and the rest stays byte for byte', async t => {
  const bare = 'From: Ann <Ann@OURS.example>\nX-Odd:\t a \n\tb\n\nbcc: text\n'
  t.equal(
    mended(bare).text,
    `Received: by mail.ours.example;\n\tnow\nDate: Fri, 02 Jan 2026 03:04:05 +0000\nMessage-ID: <new@ours.example>\n${bare}`,
  )
  t.equal(mended(bare).rfcMessageId, '<new@ours.example>')
  const whole = mended(
    'Return-Path: <eve@x.example>\nBcc: a@b.example\nFrom: ann@ours.example\nMessage-Id: <mine@x>\nBCC:\n c@d.example\nResent-Bcc: e@f.example\nDate: now\n\n',
  )
  t.equal(
    whole.text,
    'Received: by mail.ours.example;\n\tnow\nFrom: ann@ours.example\nMessage-Id: <mine@x>\nDate: now\n\n',
  )
  t.equal(whole.rfcMessageId, '<mine@x>')
  t.match(
    mended('From: ann@ours.example\nMessage-ID:\nSubject: x\n\n').text,
    /\nMessage-ID: <new@ours\.example>\nFrom/,
  )
  t.notMatch(mended('From: ann@ours.example\nMessage-ID:\nSubject: x\n\n').text, /Message-ID:\n/, 'not twice')
  t.match(mended('From: ann@ours.example\n').text, /\nFrom: ann@ours\.example\n$/, 'without a body')
})

t.test('what two readers may read in two ways is refused', async t => {
  for (const [text, expected] of [
    ['Subject: x\n\nFrom: ann@ours.example\n', /no From/],
    ['From: ann@ours.example\nFrom: ann@ours.example\n\n', /from.* twice/],
    ['From: ann@ours.example\nSubject: a\nSubject: b\n\n', /subject.* twice/],
    ['From: ann@ours.example\nDate: a\nDate: b\n\n', /date.* twice/],
    ['From: eve@ours.example\n\n', /From must be ann@ours\.example/],
    ['From: ann@ours.example\nSender: Eve <eve@ours.example>\n\n', /Sender must be/],
    ['From: friends: ann@ours.example;\n\n', /group/],
    ['From ann Fri\nFrom: ann@ours.example\n\n', /no field/],
    ['Hello\nFrom: ann@ours.example\n\n', /no field/],
    ['From: ann@ours.example\nHello\n', /no field|empty line/],
    ['From : ann@ours.example\n\n', /white space/],
    ['From: ann@\uff4furs.example\n\n', /From must be/],
    [`From: ann@ours.example\n${'X: y\n'.repeat(6000)}\n`, /too large/],
    ['', /no field/],
  ] as const) {
    const result = mend(text)
    t.match('refusal' in result ? result.refusal : 'taken', expected, JSON.stringify(text.slice(0, 60)))
  }
})

t.test('no field that is read stands there twice', async t => {
  for (const name of [
    'MIME-Version',
    'Content-Type',
    'Content-Transfer-Encoding',
    'Content-Disposition',
    'Content-ID',
    'To',
    'Cc',
  ]) {
    const result = mend(`From: ann@ours.example\n${name}: a\n${name}: a\n\n`)
    t.match('refusal' in result ? result.refusal : 'taken', / twice/, name)
  }
})
