import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { readMessage } from '../../../lib/mail/message/read.ts'
import { isComplaint, readFeedbackReport } from '../../../lib/mail/report/arf.ts'

const corpus = fileURLToPath(new URL('../../data/arf/', import.meta.url))

async function read(fields: string, reported: string, type = 'message/rfc822') {
  const raw = `From: fbl@theirs.example
Content-Type: multipart/report; report-type=feedback-report; boundary="b"

--b
Content-Type: text/plain

This is an abuse report.
--b
Content-Type: message/feedback-report

${fields}
--b
Content-Type: ${type}

${reported}
--b--
`
  const { reportParts } = readMessage(Buffer.from(raw.replaceAll('\n', '\r\n')))
  return readFeedbackReport(reportParts)
}

t.test('what the report and the message in it say', async t => {
  const report = await read(
    'Feedback-Type: ABUSE\nUser-Agent: Some/1.0\nVersion: 1\nOriginal-Mail-From: <b-1@bounce.ours.example>\nOriginal-Rcpt-To: <bob@theirs.example>\nOriginal-Rcpt-To: carol@theirs.example',
    'Return-Path: <b-2@bounce.ours.example>\nSubject: hi\n\nReturn-Path: <b-3@bounce.ours.example>',
  )
  t.strictSame(report, {
    type: 'abuse',
    originalMailFroms: ['b-1@bounce.ours.example', 'b-2@bounce.ours.example'],
    originalRcptTos: ['bob@theirs.example', 'carol@theirs.example'],
    authFailure: undefined,
  })
  const bare = await read(
    'Feedback-Type: fraud',
    'Return-Path: <b-2@bounce.ours.example>',
    'text/rfc822-headers',
  )
  t.strictSame(bare?.originalMailFroms, ['b-2@bounce.ours.example'], 'of the header alone')
})

t.test("Microsoft's form before RFC 5965: the message alone, which names who complained", async t => {
  const path = `b-${'0'.repeat(24)}@bounce.ours.example`
  const raw = `From: staff@hotmail.com
Subject: complaint about message from 192.0.2.2
Content-Type: multipart/mixed; boundary="b"

--b
Content-Type: message/rfc822

X-HmXmrOriginalRecipient: bob@hotmail.example
Authentication-Results: hotmail.example; spf=pass (sender IP is 192.0.2.2) smtp.mailfrom=${path}; dkim=pass
Subject: hi

Hello
--b--
`
  const { reportParts } = readMessage(Buffer.from(raw.replaceAll('\n', '\r\n')))
  t.strictSame(readFeedbackReport(reportParts), {
    type: 'abuse',
    originalMailFroms: [path],
    originalRcptTos: ['bob@hotmail.example'],
    authFailure: undefined,
  })
})

t.test('a complaint as Amazon SES tells it', async t => {
  const text = JSON.stringify({
    eventType: 'Complaint',
    complaint: { complainedRecipients: [{ emailAddress: 'bob@x.example' }], complaintFeedbackType: 'abuse' },
    mail: { source: 'b-1@bounce.ours.example' },
  })
  t.match(readFeedbackReport([], text), { type: 'abuse', originalMailFroms: ['b-1@bounce.ours.example'] })
  for (const broken of ['', '{"eventType": "Complaint"', '{"eventType": 5}', '"eventType"']) {
    t.equal(readFeedbackReport([], broken), undefined, broken)
  }
})

t.test('of a report of failed authentication what failed (RFC 6591)', async t => {
  const report = await read(
    'Feedback-Type: auth-failure\nAuth-Failure: dkim\nDelivery-Result: reject\nSource-IP: 192.0.2.1\nReported-Domain: ours.example',
    'Subject: hi',
  )
  t.match(report, { type: 'auth-failure', authFailure: 'dkim reject 192.0.2.1 ours.example' })
  t.notOk(isComplaint(report!))
})

t.test('a complaint is what a recipient says of mail that was not wanted', async t => {
  const verdicts = await Promise.all(
    ['abuse', 'Fraud', 'opt-out', 'not-spam', 'auth-failure', 'virus', 'x-other'].map(async type =>
      isComplaint((await read(`Feedback-Type: ${type}`, 'Subject: hi'))!),
    ),
  )
  t.strictSame(verdicts, [true, true, true, false, false, false, false])
  t.equal(await read('Version: 1', 'Subject: hi'), undefined, 'a report has a type')
  t.equal(readFeedbackReport([]), undefined)
})

t.test('the reports that other programs are tried with', async t => {
  for (const number of ['001', '002', '003', '004', '005']) {
    const { reportParts } = readMessage(readFileSync(`${corpus}${number}.eml`))
    const want = JSON.parse(readFileSync(`${corpus}${number}.json`, 'utf8'))
    const got = readFeedbackReport(reportParts)
    t.equal(got?.type.replace('-', ''), want.feedback_type.toLowerCase(), number)
    const mailFrom = want.original_mail_from?.replace(/[<>]/g, '')
    if (mailFrom) t.ok(got?.originalMailFroms.includes(mailFrom), mailFrom)
  }
})
