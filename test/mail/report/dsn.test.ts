import t from 'tap'
import { readHeader } from '../../../lib/mail/header/header.ts'
import { classify } from '../../../lib/mail/message/automatic.ts'
import { readMessage, reportParts } from '../../../lib/mail/message/read.ts'
import { reportSpokenOf } from '../../../lib/mail/report/bounce-text.ts'
import { readDsn } from '../../../lib/mail/report/dsn.ts'
import { reportRecipients } from '../../../lib/mail/report/part.ts'
import type { ReturnedRecipient } from '../../../lib/mail/report/recipient.ts'
import { reportTextLength } from '../../../lib/mail/report/said-reply.ts'
import { readSnsBounce } from '../../../lib/mail/report/sns.ts'
import { hostileTexts, manyTimes } from '../../support/hostile.ts'

async function read(raw: Buffer | string, recipients: readonly string[] = []): Promise<ReturnedRecipient[]> {
  const bytes = Buffer.from(raw)
  const header = readHeader(bytes)
  const parsed = readMessage(bytes)
  const from = parsed.from?.address ?? null
  const { category } = classify({ header, mailFrom: '', from, subject: parsed.subject })
  return readDsn({ ...parsed, header, isBounce: category === 'bounce' }, recipients)
}

function report(status: string, { type = 'message/delivery-status', notice = 'It failed.' } = {}): string {
  return [
    'From: MAILER-DAEMON@mx.theirs.example',
    'Subject: Undelivered',
    'MIME-Version: 1.0',
    'Content-Type: multipart/report; report-type=delivery-status; boundary="b"',
    '',
    '--b',
    'Content-Type: text/plain',
    '',
    notice,
    '--b',
    `Content-Type: ${type}`,
    '',
    status,
    '--b',
    'Content-Type: message/rfc822',
    '',
    'Subject: ours',
    '',
    'Final-Recipient: rfc822; someone@else.example',
    'Action: failed',
    '--b--',
    '',
  ].join('\r\n')
}

function text(subject: string, body: string, more = ''): string {
  return `From: MAILER-DAEMON@mx.theirs.example\r\nSubject: ${subject}\r\n${more}\r\n${body.replaceAll('\n', '\r\n')}\r\n`
}

t.test('the fields of RFC 3464, for each recipient', async t => {
  const got = await read(
    report(
      `Reporting-MTA: dns; relay.theirs.example
Arrival-Date: Fri, 20 Nov 2026 10:00:00 +0000

Original-Recipient: rfc822; bob@theirs.example
Final-Recipient: RFC822;<Robert@Inner.Theirs.Example> (Bob)
Action: failed (no such user)
Status: 5.0.0 (permanent failure)
Remote-MTA: dns; mx2.theirs.example
Diagnostic-Code: smtp; 550-5.1.1 There is
  no such user

Final-Recipient: rfc822; carol@theirs.example
Action: delayed
Status: 4.4.1
`.replaceAll('\n', '\r\n'),
    ),
  )
  t.strictSame(got, [
    {
      finalRecipient: 'robert@inner.theirs.example',
      originalRecipient: 'bob@theirs.example',
      action: 'failed',
      code: 550,
      enhanced: '5.1.1',
      text: 'There is no such user',
      host: 'mx2.theirs.example',
    },
    {
      finalRecipient: 'carol@theirs.example',
      originalRecipient: undefined,
      action: 'delayed',
      code: undefined,
      enhanced: '4.4.1',
      text: 'It failed.',
      host: 'relay.theirs.example',
    },
  ])
})

t.test("what Cisco's gateways write in place of a diagnostic", async t => {
  for (const info of [
    '<192.0.2.32 #5.0.0 smtp; 550 "User unknown here">',
    '<mx.there.example #5.0.0 smtp; 550 User unknown here>',
  ]) {
    const [one] = await read(
      report(
        `Reporting-MTA: dns; mx.isp.example\n\nFinal-Recipient: rfc822; bob@there.example\nAction: failed\nStatus: 5.0.0\nX-Supplementary-Info: ${info}`,
      ),
    )
    t.match(one, { action: 'failed', code: 550, text: 'User unknown here' }, info)
  }
})

t.test('a notice that names no reply, but says that it is the end', async t => {
  for (const [from, subject, text] of [
    [
      'Mail.Delivery.System@x.example',
      'Delivery status notification',
      'Delevery to the following recipients was aborted after 5.0 hour(s):\n\n  * bob@there.example\n\n',
    ],
    [
      'postmaster@x.example',
      '**Message you sent blocked by our bulk email filter**',
      'Your message to: bob@there.example\nwas blocked by our Spam Firewall. The email you sent with the following subject has NOT BEEN DELIVERED:\n\nSubject: Offer\n',
    ],
  ] as const) {
    const found = await read(`From: ${from}\nSubject: ${subject}\n\n${text}`.replaceAll('\n', '\r\n'), [
      'bob@there.example',
    ])
    t.match(found, [{ finalRecipient: 'bob@there.example', action: 'failed' }], subject)
  }
})

t.test('two recipients without the empty line between them, and no group about the message', async t => {
  const got = await read(
    report(
      'Final-Recipient: rfc822; a@x.example\nAction: failed\nStatus: 5.1.1\nFinal-Recipient: rfc822; b@x.example\nAction: relayed\nStatus: 2.0.0',
    ),
  )
  t.strictSame(
    got.map(({ finalRecipient, action, enhanced }) => [finalRecipient, action, enhanced]),
    [
      ['a@x.example', 'failed', '5.1.1'],
      ['b@x.example', 'relayed', '2.0.0'],
    ],
  )
})

t.test('an internationalised notification, in UTF-8 and in escapes (RFC 6533)', async t => {
  const type = 'message/global-delivery-status'
  const plain = await read(
    report('Final-Recipient: utf-8; bøb@x.example\nAction: failed\nStatus: 5.1.1', { type }),
  )
  const escaped = await read(
    report('Final-Recipient: utf-8; b\\x{F8}b@x.example\nAction: failed\nStatus: 5.1.1', { type }),
  )
  t.strictSame([plain[0]?.finalRecipient, escaped[0]?.finalRecipient], ['bøb@x.example', 'bøb@x.example'])
})

t.test('a policy against us wins over what else is said; a code that says nothing loses', async t => {
  const enhanced = async (status: string, diagnostic: string) =>
    (
      await read(
        report(
          `Final-Recipient: rfc822; a@x.example\nAction: failed\nStatus: ${status}\nDiagnostic-Code: ${diagnostic}`,
        ),
      )
    )[0]?.enhanced
  t.equal(await enhanced('5.1.1', 'smtp; 550 5.7.1 you are listed'), '5.7.1')
  t.equal(await enhanced('5.7.1', 'smtp; 550 5.1.1 user unknown'), '5.7.1')
  t.equal(await enhanced('5.1.1', 'smtp; 550 5.0.0 failed'), '5.1.1')
  t.equal(await enhanced('5.0.0', '550 #5.1.2 no such host'), '5.1.2', 'without a type')
  t.equal(await enhanced('4.4.7', 'X-Postfix; delivery temporarily suspended'), '4.4.7')
})

t.test('an action that is missing follows from the status; without both it is nothing', async t => {
  const actions = await Promise.all(
    ['Status: 5.1.1', 'Status: 4.2.2', 'Action: failure\nStatus: 5.0.0', 'Action: thrown away', ''].map(
      async more =>
        (await read(report(`Final-Recipient: rfc822; a@x.example\n${more}`))).map(({ action }) => action),
    ),
  )
  t.strictSame(actions, [['failed'], ['delayed'], ['failed'], [], []])
})

t.test('Exim and its heirs name the recipient in the header and the reply in words', async t => {
  const body = `This message was created automatically by mail delivery software.

The following address(es) failed:

  bob@theirs.example
    SMTP error from remote mail server after RCPT TO:<bob@theirs.example>:
    host mx.theirs.example [192.0.2.20]: 550 5.1.1 <bob@theirs.example>: no such user

------ This is a copy of the message, including all the headers. ------

Subject: hi

500 5.5.0 is our own text
`
  const failed = 'X-Failed-Recipients: bob@theirs.example\r\n'
  t.match(await read(text('Mail delivery failed: returning message to sender', body, failed)), [
    {
      finalRecipient: 'bob@theirs.example',
      action: 'failed',
      code: 550,
      enhanced: '5.1.1',
      text: /no such user$/,
    },
  ])
  const waits = body.replace('automatically', 'automatically. THIS IS A WARNING MESSAGE ONLY')
  t.strictSame(
    (await read(text('Delivery Status Notification (Delay)', waits, failed))).map(({ action }) => action),
    ['delayed'],
    'a warning fails nobody',
  )
})

t.test('qmail and OpenSMTPD name the recipient in words', async t => {
  const qmail = `Hi. This is the qmail-send program at mx.theirs.example.
I'm afraid I wasn't able to deliver your message to the following addresses.
This is a permanent error; I've given up. Sorry it didn't work out.

<bob@theirs.example>:
Sorry, no mailbox here by that name. (#5.1.1)

--- Below this line is a copy of the message.
`
  t.match(await read(text('failure notice', qmail)), [
    {
      finalRecipient: 'bob@theirs.example',
      action: 'failed',
      enhanced: '5.1.1',
      text: 'Sorry, no mailbox here by that name. (#5.1.1)',
    },
  ])
  const opensmtpd = `    Hi!

    An error has occurred while attempting to deliver a message for
    the following list of recipients:

bob@theirs.example: 550 5.1.1 no such user

    Below is a copy of the original message:
`
  t.match(await read(text('Delivery status notification: error', opensmtpd)), [
    { finalRecipient: 'bob@theirs.example', code: 550, enhanced: '5.1.1', text: 'no such user' },
  ])
})

t.test(
  'a status without a group of its recipient, without a code, with fields that are not folded',
  async t => {
    t.match(await read(report('Reporting-MTA: dns; mx.theirs.example')), [
      { action: 'failed', text: 'It failed.' },
    ])
    t.match(await read(report('Final-Recipient: rfc822; a@x.example\nAction: expired')), [
      { action: 'failed' },
    ])
    const broken = `Reporting-MTA: dns; mx.theirs.example

Diagnostic-Code: smtp; 550-Please turn on authentication.
550-mail is not permitted to
550 relay through this server.
Status: 5.0.0
Action: failed`
    t.match(await read(report(broken)), [
      { finalRecipient: undefined, action: 'failed', code: 550, enhanced: '5.0.0', text: /relay through/ },
    ])
  },
)

t.test('a notification that was passed on whole', async t => {
  const inner = report('Final-Recipient: rfc822; bob@x.example\nAction: failed\nStatus: 5.1.1')
  const outer = `From: postmaster@there.example
Subject: Fwd: Undelivered
Content-Type: multipart/mixed; boundary="o"

--o

See below.
--o
Content-Type: message/rfc822

${inner}
--o--
`
  t.match(await read(outer.replace(/\r?\n/g, '\r\n')), [
    { finalRecipient: 'bob@x.example', enhanced: '5.1.1' },
  ])
})

t.test('words of many servers: where the reply stands, and of whom', async t => {
  const cases: readonly (readonly [notice: string, code: number | undefined, text: RegExp])[] = [
    ['<bob@x.example>:\n550: <bob@x.example>: User unknown', 550, /User unknown/],
    [
      'Sent <<< RCPT TO:<bob@x.example>\nReceived >>> 550 5.1.1 <bob@x.example>... user unknown',
      550,
      /user unknown/,
    ],
    [
      'The error that the other server returned was: 550 550 5.1.1 No such user.\n\nTo: bob@x.example',
      550,
      /^No such user/,
    ],
    ['bob@x.example Invalid Address, ERROR_CODE :550, ERROR_CODE :5.2.1 gone', 550, /gone/],
    [
      'Your message\n\nwas not delivered to:\n\n  bob@x.example\n\nbecause:\n\n  User bob not listed in Directory',
      undefined,
      /not listed/,
    ],
    ['could not be delivered to "bob@x.example"\n\nReason:\nmailbox is full', undefined, /mailbox is full/],
    ['User mailbox exceeds allowed size: bob@x.example', undefined, /exceeds allowed size/],
    [
      '550 <ann@x.example>... User unknown\n>>> RCPT To:<bob@x.example>\n<<< 552 Mailbox full\n554 <bob@x.example>... Service unavailable',
      554,
      /Service unavailable/,
    ],
    ['ann@x.example\n  550 5.1.1 No such user\n\nbob@x.example\n  552 5.2.2 Over quota', 552, /Over quota/],
  ]
  for (const [notice, code, words] of cases) {
    const [got, ...more] = await read(text('Undeliverable mail', notice), ['bob@x.example'])
    t.match(got, { finalRecipient: 'bob@x.example', action: 'failed', text: words }, notice)
    t.equal(got?.code, code, notice)
    t.strictSame(more, [], 'of the one that it came back for')
  }
  const permanent = '<bob@x.example>: host mx.x.example said: 550 5.1.1 No such user'
  t.match(
    await read(text('Deferred: your mail', permanent)),
    [{ action: 'failed' }],
    'the reply, and not the subject',
  )
})

t.test('a bounce of Amazon SES, as SNS mails it', async t => {
  const message = JSON.stringify({
    notificationType: 'Bounce',
    bounce: {
      bounceType: 'Permanent',
      bouncedRecipients: [
        {
          emailAddress: 'Bob@x.example',
          action: 'failed',
          status: '5.1.1',
          diagnosticCode: 'smtp; 550 5.1.1 user unknown',
        },
      ],
    },
    mail: { source: 'a@ours.example' },
  })
  const outer = JSON.stringify({ Type: 'Notification', TopicArn: 'arn:x', Message: message }, null, 2)
  const raw = `From: no-reply@sns.amazonaws.com\r\nSubject: AWS Notification Message\r\n\r\n${outer.replace('user ', 'user\n ')}\r\n`
  for (const one of [raw, raw.replace(outer.replace('user ', 'user\n '), message)]) {
    t.match(await read(one), [
      { finalRecipient: 'bob@x.example', code: 550, enhanced: '5.1.1', action: 'failed' },
    ])
  }
  const wordless = message.replace('550 5.1.1 user unknown', '').replace('5.1.1', '5.2.2')
  t.match(
    readSnsBounce(wordless),
    [{ code: undefined, enhanced: '5.2.2', text: 'bounced: Permanent' }],
    'its status, where no server said anything',
  )
  t.strictSame(await read(raw.replace('Bounce', 'Delivery')), [])
  t.strictSame(await read(raw.replace('}', '')), [], 'what is no JSON')
})

t.test('what is no notification says nothing', async t => {
  const away = 'I am away until May 5. If it is urgent: 550 5.1.1 is what you get.\n'
  t.strictSame(await read(`From: bob@theirs.example\r\nAuto-Submitted: auto-replied\r\n\r\n${away}`), [])
  t.strictSame(await read(text('Hello', 'Your postmaster greets you, all 550 of you.\n')), [])
})

t.test('of a very long one the beginning is read, soon', async t => {
  const many = Array.from(
    { length: 20_000 },
    (_, at) => `Final-Recipient: rfc822; u${at}@x.example\nAction: failed\n`,
  )
  t.equal((await read(report(many.join('\n')))).length, reportRecipients)
  const long = `Final-Recipient: rfc822; a@x.example\nAction: failed\nDiagnostic-Code: smtp; 550 ${'é'.repeat(5000)}`
  t.equal((await read(report(long)))[0]?.text.length, reportTextLength)
  for (const one of ['(', '\n ', '\n\t\n', ' ', '<', '5', '550 ', '#', 'a@', '"']) {
    await read(report(`Final-Recipient: rfc822; ${one.repeat(60_000)}\nAction: failed`))
    await read(text('failure notice', one.repeat(60_000)))
  }
})

t.test('no more recipients are read than are kept, however many groups and parts there are', async t => {
  let read = 0
  const group = 'Final-Recipient: rfc822; a@b.example\r\nAction: failed\r\n\r\n'
  const parts = Array.from({ length: reportParts }, () => ({
    contentType: 'message/delivery-status',
    get content() {
      read++
      return group.repeat(100_000)
    },
  }))
  const message = { header: readHeader(Buffer.from('\r\n')), subject: '', text: 'x', isBounce: true }
  const found = readDsn({ ...message, reportParts: parts })
  t.equal(found.length, reportRecipients)
  t.equal(read, 1, 'the first part had enough of them')
})

t.test('what stands in the words is read in a moment', async t => {
  for (const text of hostileTexts(manyTimes, {
    heads: ['550 ', 'Action: failed', 'Diagnostic-Code: smtp', '<a@b.example>'],
    fillings: [' ', '5.1.1 ', '>', '\n', '(', '-'],
    ends: ['x', ': 550'],
  })) {
    const header = readHeader(Buffer.from('\r\n'))
    const parts = [{ contentType: 'message/delivery-status', content: text }]
    readDsn({ header, subject: 'x', text, isBounce: true, reportParts: [] })
    readDsn({ header, subject: 'x', text, isBounce: true, reportParts: parts })
  }
  // Each of a hundred is named eight times, and of a hundred others it is looked where they come next.
  const people = (from: number) =>
    Array.from({ length: 100 }, (_, index) => `n@${String.fromCodePoint(from + (index % 26))}${index}.c`)
  const [named, listed] = [people(97), people(65).map(one => one.toLowerCase().replace('n@', 'm@'))]
  const header = readHeader(Buffer.from(`X-Failed-Recipients: ${named.join(',\r\n ')}\r\n\r\n`))
  const groups = named.map(one => `Final-Recipient: rfc822; ${one}\r\nAction: failed\r\n`).join('\r\n')
  for (const filling of [`${'n'.repeat(37)}\n`, 'n@', 'word\n\n', 'no such words ']) {
    const top = `It failed permanently.\n\n${listed.join('\n')}\n\n${named.map(one => `${one} `.repeat(8)).join('\n')}\n\n`
    const text = `${top}${filling.repeat(100_000)}`
    const told = readDsn({ header, subject: 'x', text, isBounce: true, reportParts: [] })
    t.equal(told.length, reportSpokenOf)
    const parts = [{ contentType: 'message/delivery-status', content: groups }]
    t.equal(readDsn({ header, subject: 'x', text, isBounce: true, reportParts: parts }).length, 100)
  }
  t.pass('all were read')
})
