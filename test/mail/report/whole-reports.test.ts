import t from 'tap'
import { readHeader } from '../../../lib/mail/header/header.ts'
import { isComplaint, readFeedbackReport } from '../../../lib/mail/report/arf.ts'
import { readDsn } from '../../../lib/mail/report/dsn.ts'
import { noticeIn, reportParagraphs } from '../../../lib/mail/report/notice.ts'
import { reportPartBytes, reportRecipients } from '../../../lib/mail/report/part.ts'
import { withoutAddresses, withoutMessageWords } from '../../../lib/mail/report/repeated-words.ts'
import { enhancedOf, findReply, reportTextLength, wordsOf } from '../../../lib/mail/report/said-reply.ts'
import { readSnsBounce, readSnsComplaint } from '../../../lib/mail/report/sns.ts'
import { readWritten } from '../../support/halves.ts'
import { byLength, byLine, type Facts, sameFacts } from '../../support/kept-facts.ts'

type Returned = ReturnType<typeof readDsn>

/** One line for each recipient. */
function told(found: Returned): string[] {
  return found.map(
    ({ finalRecipient = '-', originalRecipient, action, code = '-', enhanced = '-', text, host }) =>
      [
        finalRecipient,
        originalRecipient && `(${originalRecipient})`,
        action,
        code,
        enhanced,
        host && `of ${host}`,
        JSON.stringify(text.slice(0, 120)),
      ]
        .filter(Boolean)
        .join(' '),
  )
}

const nothing = readHeader(Buffer.from('From: MAILER-DAEMON@theirs.example\r\n'))

function readStatus(content: string, text = '', recipients: readonly string[] = []): string[] {
  const part = { contentType: 'message/delivery-status', content }
  return told(
    readDsn({ header: nothing, subject: '', text, isBounce: true, reportParts: [part] }, recipients),
  )
}

const usual = {
  'Final-Recipient': 'rfc822; bob@there.example',
  Action: 'failed',
  Status: '5.1.1',
  'Diagnostic-Code': 'smtp; 550 5.1.1 no such user',
  'Remote-MTA': 'dns; mx.there.example',
}

const fields: Readonly<Record<string, readonly (string | undefined)[]>> = {
  'Final-Recipient': [
    undefined,
    '',
    'bob@there.example',
    'RFC822;Bob@There.Example',
    'rfc822; <bob@there.example>',
    'rfc822;bob@there.example (Bob)',
    '(Bob) rfc822; bob@there.example',
    'x400; bob@there.example',
    'LOCAL; bob@there.example',
    'utf-8; b\\x{F6}b@there.example',
    'UTF-8; \\x{1F600}@there.example',
    'utf-8; b\\x{110000}b@there.example',
    'utf-8; b\\x{1000000}b@there.example',
    'rfc822; b\\x{F6}b@there.example',
    'rfc822; böb@there.example',
    'rfc822; nobody',
    'rfc822;',
    `${'x'.repeat(30)}; bob@there.example`,
    `${'x'.repeat(31)}; bob@there.example`,
  ],
  'Original-Recipient': [
    'rfc822; kim@ours.example',
    'utf-8; k\\x{69}m@ours.example',
    'rfc822; none',
    'x; kim@ours.example',
  ],
  Action: [
    undefined,
    '',
    'FAILED',
    ' "failed"',
    'failed (bounced)',
    'failed;',
    'delayed',
    'delivered',
    'relayed',
    'expanded',
    'failure',
    'expired',
    'Rejected',
    'bounced',
    'undeliverable',
    'returned',
    'rejectedx',
    'unknown',
    '5failed',
  ],
  Status: [
    undefined,
    '',
    '5',
    '5.1',
    '5.1.1 (bad)',
    '(bad) 4.2.2',
    '2.0.0',
    '3.0.0',
    '5.1.1.1',
    '15.1.1',
    '5.1234.1',
    '5.7.1',
    '5.0.0',
    '4.7.1',
  ],
  'Diagnostic-Code': [
    undefined,
    '',
    'smtp;',
    '550 5.1.1 no such user',
    'X-Postfix; unknown user',
    'smtp; 550-5.7.1 not wanted',
    'smtp; 452 4.2.2 full',
    'smtp; 550 4.2.2 full',
    'smtp; 250 ok',
    'smtp; 5.2.2 full',
    'smtp; #5.2.2 full',
    'smtp; said (550)',
    'smtp; 550',
    'smtp; 550 5.0.0 other',
    `${'y'.repeat(31)}; 550 text`,
    `${'y'.repeat(32)}; 550 text`,
    'smtp; 550 5.1.1 <bob@there.example>: no\r\n such user',
  ],
  'Remote-MTA': [
    undefined,
    '',
    'dns;',
    'mx.there.example',
    'DNS; MX.There.Example',
    'dns; [192.0.2.1]',
    'dns;192.0.2.1',
    'dns; mx.there.example (192.0.2.1)',
    'x y; mx.there.example',
    'dns; 2001:db8::1',
    `dns; ${'m'.repeat(255)}`,
    `dns; ${'m'.repeat(256)}`,
    `${'z'.repeat(31)}; mx.there.example`,
  ],
}

function statusOf(given: Readonly<Record<string, string | undefined>>): string {
  const group = Object.entries(given)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}: ${value}\r\n`)
  return `Reporting-MTA: dns; mx.ours.example\r\n\r\n${group.join('')}`
}

const twoRecipients = [
  'Reporting-MTA: dns; mx.ours.example',
  'Arrival-Date: Thu, 26 Nov 2026 12:00:00 +0000',
  '',
  'Original-Recipient: rfc822; kim@ours.example',
  'Final-Recipient: rfc822; bob@there.example',
  'Action: failed',
  'Status: 5.1.1',
  'Remote-MTA: dns; mx.there.example',
  'Diagnostic-Code: smtp; 550 5.1.1 <bob@there.example>:',
  ' no such user',
  '',
  'Final-Recipient: rfc822; ann@there.example',
  'Action: delayed',
  'Status: 4.2.2',
  '',
].join('\r\n')

t.test('what the fields of a notification say', async t => {
  const facts: Facts[] = [['as it is mostly', readStatus(statusOf(usual))]]
  for (const [name, values] of Object.entries(fields)) {
    const lines = values.map(value => {
      const shown = value === undefined ? 'left out' : JSON.stringify(value).replace(/(.)\1{20,}/, '$1…')
      return `${shown} → ${readStatus(statusOf({ ...usual, ...(name === 'Status' && { 'Diagnostic-Code': 'smtp; gone' }), [name]: value })).join(' | ') || 'nothing'}`
    })
    facts.push([name, lines])
  }
  const bare = { 'Final-Recipient': usual['Final-Recipient'] }
  for (const [title, status] of [
    ['by the status alone, 5', { ...bare, Status: '5.2.1' }],
    ['by the status alone, 4', { ...bare, Status: '4.2.1' }],
    ['by the status alone, 2', { ...bare, Status: '2.1.5' }],
    ['of a policy, said and noted', { ...usual, Status: '5.7.1' }],
    [
      'of a policy, noted and another said',
      { ...usual, Status: '5.1.1', 'Diagnostic-Code': 'smtp; 550 5.7.1 no' },
    ],
    ['an action alone', { Action: 'failed' }],
    ['a status alone', { Status: '5.1.1' }],
    ['whom it was for alone', { ...bare }],
    ['other fields alone', { 'Remote-MTA': 'dns; x.example', 'Diagnostic-Code': 'smtp; 550 no' }],
  ] as const)
    facts.push([title, readStatus(statusOf(status))])
  for (const [title, content] of [
    ['line feeds alone', twoRecipients.replaceAll('\r\n', '\n')],
    ['blanks in the empty lines', twoRecipients.replaceAll('\r\n\r\n', '\r\n \t\r\n')],
    ['no empty lines', twoRecipients.replaceAll('\r\n\r\n', '\r\n')],
    ['no first group', twoRecipients.slice(twoRecipients.indexOf('Original'))],
    ['empty lines at first', `\r\n\r\n${twoRecipients}`],
    ['a fold without its space', twoRecipients.replace('\r\n no such', '\r\nno such')],
    ['a name of 61 characters', `${statusOf(usual).replace('Remote-MTA', `X${'y'.repeat(60)}`)}`],
    ['a name of 62 characters', `${statusOf(usual).replace('Remote-MTA', `X${'y'.repeat(61)}`)}`],
    ['an action twice', twoRecipients.replace('Status: 5.1.1', 'Status: 5.1.1\r\nAction: delayed')],
    ['a status twice', twoRecipients.replace('Status: 5.1.1', 'Status: 5.1.1\r\nStatus: 5.2.2')],
    [
      'its name in the second group',
      twoRecipients
        .replace('Reporting-MTA', 'X')
        .replace('Action: delayed', 'Action: delayed\r\nReporting-MTA: dns; late.example'),
    ],
  ] as const)
    facts.push([title, readStatus(content)])
  facts.push(['cut off', byLength(Buffer.from(twoRecipients), beginning => readStatus(beginning.toString()))])
  sameFacts(t, 'delivery-status', facts)

  const group = (i: number) => `Final-Recipient: rfc822; r${i}@there.example\r\nAction: failed\r\n\r\n`
  const many = (count: number) => Array.from({ length: count }, (_, i) => group(i)).join('')
  for (const count of [reportRecipients - 1, reportRecipients, reportRecipients + 1])
    t.equal(readStatus(many(count)).length, Math.min(count, reportRecipients), `${count}`)
  const part = { contentType: 'message/delivery-status', content: many(reportRecipients - 3) }
  const several = { header: nothing, subject: '', text: '', isBounce: true, reportParts: [part, part, part] }
  t.equal(readDsn(several).length, reportRecipients, 'of all parts together')
})

t.test('words beside the fields, and a notification that was passed on', async t => {
  const silent = statusOf({ ...usual, 'Diagnostic-Code': undefined })
  const notice =
    'Hello\n\nbob@there.example\n   550 5.2.2 mailbox is full\n\nann@there.example\n   550 5.1.1 no such user\n'
  const facts: Facts[] = [
    ['the reply stands in the words', readStatus(silent, notice)],
    [
      'and the fields below them',
      readStatus(silent, `We are sorry.\n\nFinal-Recipient: rfc822; bob@there.example\n550 5.2.2 full`),
    ],
    ['of an address of ours', readStatus(silent.replace('bob', 'bobby'), notice, ['ann@there.example'])],
    ['of nobody', readStatus(silent.replace('bob', 'bobby'), notice)],
    ['digits alone are no words', readStatus(statusOf({ ...usual, 'Diagnostic-Code': 'smtp; 550' }), notice)],
  ]
  const boundary = 'Content-Type: multipart/report; report-type=delivery-status; boundary="b"'
  const inner = (head: string, type = 'message/delivery-status') =>
    [
      head,
      'Subject: Undelivered',
      '',
      '--b',
      `Content-Type: ${type}`,
      '',
      twoRecipients,
      '--b',
      'Content-Type: message/rfc822',
      '',
      'Subject: ours',
      '',
      'Final-Recipient: rfc822; eve@else.example',
      'Action: failed',
      '--b--',
      '',
    ].join('\r\n')
  for (const [title, content] of [
    ['passed on', inner(boundary)],
    ['passed on, with line feeds', inner(boundary).replaceAll('\r\n', '\n')],
    ['passed on behind empty lines', `\r\n${inner(boundary)}`],
    ['passed on, global', inner(boundary, 'message/global-delivery-status')],
    ['passed on, folded', inner(boundary.replaceAll('; ', ';\r\n\t'))],
    ['passed on, in capitals', inner(boundary.toUpperCase().replace('"B"', '"b"'))],
    ['passed on without a boundary', inner(boundary.replace('; boundary="b"', ''))],
    ['passed on with an empty boundary', inner(boundary.replace('"b"', '""'))],
    ['passed on with another boundary', inner(boundary.replace('"b"', '"c"'))],
    ['passed on without the word', inner(boundary.replace('; report-type=delivery-status', ''))],
    ['passed on without the part', inner(boundary, 'text/plain')],
    [
      'the copy of a message alone',
      'Subject: x\r\n\r\nFinal-Recipient: rfc822; eve@else.example\r\nAction: failed\r\n',
    ],
  ] as const) {
    const reportParts = [{ contentType: 'message/rfc822', content }]
    facts.push([
      title,
      told(readDsn({ header: nothing, subject: '', text: '', isBounce: true, reportParts })),
    ])
  }
  sameFacts(t, 'delivery-status-words', facts)
})

t.test('replies in a text', async t => {
  const said = [
    '550 5.1.1 no such user',
    '550-5.1.1 no such user',
    '550 no such user',
    '550',
    '550 ',
    '5501 x',
    ' 550 x',
    '> 550 x',
    '* 550: x',
    '<550> x',
    'x 550 y',
    'x: 550 y',
    'x; 550 y',
    'said 550 y',
    'said: 550-5.7.1 y',
    'error code 550 y',
    'response 421 y',
    'unsaid 550 y',
    '(550) y',
    '#550 y',
    '[550] y',
    '>550 y',
    "'550 5.1.1 y'",
    '"550 5.1.1 y"',
    '550 550 5.1.1 y',
    '550 550 y',
    '550-451 y',
    '550: 5.1.1 y',
    '550 - 5.1.1 y',
    '550 (5.1.1) y',
    '550 #5.1.1 y',
    '550 #(5.1.1) y',
    '550, error_code :5.1.1 y',
    '550 ,error_code:5.1.1 y',
    '550, y',
    '550) y',
    '550: y',
    '550.y',
    '550_5.1.1',
    '560 y',
    '650 y',
    '350 y',
    '450 4.2.2 y',
    '450 5.2.2 y',
    '550 4.2.2 y',
    '550 2.0.0 y',
    '550 5.1.1.1 y',
    '550 5.1.1111 y',
    '550 5.1234.1 y',
    '550 5.123.123 y',
    '450 y\n550 z',
    '5.1.1 y',
    ' 5.1.1 y',
    'x 5.1.1 y',
    '#5.1.1 y',
    '(5.1.1) y',
    '[5.1.1] y',
    'x (#5.1.1)',
    '2.1.5 y',
    '3.1.1 y',
    '5.1 y',
    '5.1.1. y',
    'x\n5.1.1 y',
    '550 x (#5.1.1)',
    '550 x (#4.1.1)',
    'line\r\n550 5.1.1 y',
    'a@b.example\n550 y',
    '55 0 y',
    '',
    'no reply',
  ]
  const lines = said.map(text => {
    const reply = findReply(text)
    const found = reply ? `${reply.code ?? '-'} ${reply.enhanced ?? '-'} at ${reply.index}` : 'none'
    return `${JSON.stringify(text)} → ${found}, ${JSON.stringify(wordsOf(text))}`
  })
  const codes = [undefined, '5.1.1', '5.0.0', '5.7.1', '4.7.0', '4.0.0', '2.7.1', '5.17.1', '5.1.0']
  const chosen = codes.flatMap(one => codes.map(two => `${one} and ${two} → ${enhancedOf(one, two)}`))
  sameFacts(t, 'said-replies', [
    ['found', lines],
    ['of two', chosen],
  ])
  const long = `550 5.1.1 ${'x'.repeat(9 * reportTextLength)}`
  t.equal(wordsOf(long), 'x'.repeat(reportTextLength))
  t.equal(wordsOf(`550 ${'x'.repeat(reportTextLength - 1)}😀`), `${'x'.repeat(reportTextLength - 1)}\ufffd`)
  t.equal(wordsOf('550 a\r\n\tb \n c\0d'), wordsOf('a b c\0d'), 'one line')
})

const reportOf = (text: string) => [{ contentType: 'message/feedback-report', content: text }]
const own = `b-${'0'.repeat(24)}@bounce.ours.example`

t.test('complaints', async t => {
  const usualReport = [
    'Feedback-Type: abuse',
    'User-Agent: X/1',
    'Version: 1',
    `Original-Mail-From: <${own}>`,
    'Original-Rcpt-To: <bob@there.example>',
    'Auth-Failure: dkim',
    'Delivery-Result: reject',
    'Source-IP: 192.0.2.1',
    'Reported-Domain: ours.example',
    '',
  ].join('\r\n')
  const returned = `Received: by x\r\nReturn-Path: <${own.replace('0', '1')}>\r\nReceived-SPF: pass (x) envelope-from="${own.replace('0', '2')}";\r\nAuthentication-Results: x; spf=pass smtp.mailfrom=SRS0=aa=bb=c.example=d@ours.example\r\nSubject: ${own}\r\n\r\nReturn-Path: <no@no.example>\r\n`
  const facts: Facts[] = [['as it is mostly', readFeedbackReport(reportOf(usualReport))]]
  for (const type of [
    'Abuse',
    'FRAUD',
    'opt-out',
    'opt-out-list',
    'not-spam',
    'auth-failure',
    'virus',
    'other',
    'abuse (x)',
    'abuse;',
    ' abuse',
    '"abuse"',
    '',
    'ab use',
  ]) {
    const report = readFeedbackReport(reportOf(usualReport.replace('abuse', type)))
    facts.push([`type ${JSON.stringify(type)}`, report ? [report.type, isComplaint(report)] : 'none'])
  }
  for (const [title, text] of [
    ['empty lines at first', `\r\n \r\n${usualReport}`],
    ['without a type', usualReport.replace(/^.*\r\n/, '')],
    ['without a failure', usualReport.replace(/Auth.*\r\n/, '')],
    ['with a failure alone', 'Feedback-Type: auth-failure\r\nAuth-Failure: spf\r\n'],
    ['twice each', usualReport + usualReport.replaceAll(/: /g, ': x')],
    ['a long failure', usualReport.replace('dkim', 'd'.repeat(reportTextLength + 9))],
    ['folded', usualReport.replaceAll(': ', ':\r\n\t')],
  ] as const)
    facts.push([title, readFeedbackReport(reportOf(text))])
  for (const contentType of [
    'message/rfc822',
    'text/rfc822-headers',
    'message/global',
    'message/global-headers',
    'text/plain',
  ])
    facts.push([
      `the message as ${contentType}`,
      readFeedbackReport([...reportOf('Feedback-Type: abuse\r\n'), { contentType, content: returned }]),
    ])
  const hotmail = {
    contentType: 'message/rfc822',
    content: `X-HmXmrOriginalRecipient: <bob@there.example>\r\n${returned}`,
  }
  facts.push(['of Microsoft', readFeedbackReport([hotmail])])
  facts.push(['of Microsoft, twice', readFeedbackReport([hotmail, { ...hotmail, content: returned }])])
  facts.push(['a message alone', readFeedbackReport([{ ...hotmail, content: returned }])])
  facts.push([
    'cut off',
    byLine(Buffer.from(usualReport), beginning => readFeedbackReport(reportOf(beginning.toString()))),
  ])
  sameFacts(t, 'complaints', facts)
  const paths = `X: ${`${own} `.repeat(reportRecipients + 5)}\r\n\r\n`
  const many = readFeedbackReport([
    ...reportOf('Feedback-Type: abuse\r\n'),
    { contentType: 'message/rfc822', content: paths },
  ])
  t.equal(many?.originalMailFroms.length, reportRecipients)
})

t.test('what Amazon SES tells', async t => {
  const bounce = {
    notificationType: 'Bounce',
    bounce: {
      bounceType: 'Permanent',
      bouncedRecipients: [
        {
          emailAddress: 'bob@there.example',
          action: 'failed',
          status: '5.1.1',
          diagnosticCode: 'smtp; 550 5.1.1 no such user',
        },
      ],
    },
    mail: { source: own },
  }
  const [usualOne] = bounce.bounce.bouncedRecipients
  const withOne = (one: unknown) =>
    JSON.stringify({ ...bounce, bounce: { ...bounce.bounce, bouncedRecipients: [one] } })
  const complaint = {
    notificationType: 'Complaint',
    complaint: {
      complaintFeedbackType: 'Fraud',
      complainedRecipients: [{ emailAddress: 'bob@there.example' }],
    },
    mail: { source: own },
  }
  const text = JSON.stringify(bounce)
  const facts: Facts[] = []
  for (const [title, said] of [
    ['a bounce', text],
    ['by its new name', text.replace('notificationType', 'eventType')],
    ['in small letters', text.replace('"Bounce"', '"bounce"')],
    ['within words', `Hello {not this\n${text}\nbye`],
    ['between words', `Hello\n${text}\nbye`],
    ['broken over lines', text.replace('no such', 'no\n such').replace('Permanent', 'Perma\r\nnent')],
    ['of SNS', JSON.stringify({ Type: 'Notification', TopicArn: 'x', Message: text })],
    ['of SNS, without a name', JSON.stringify({ Message: text }).replace('notificationType', 'other')],
    ['of SNS, no JSON', JSON.stringify({ TopicArn: 'x', Message: 'hi' })],
    ['of SNS, a list', JSON.stringify({ TopicArn: 'x', Message: '[1]' })],
    ['a list', `[${text}]`],
    ['another', text.replace('"Bounce"', '"Delivery"')],
    ['a number for a name', text.replace('"Bounce"', '1')],
    ['no bounce', JSON.stringify({ notificationType: 'Bounce' })],
    ['null for it', JSON.stringify({ notificationType: 'Bounce', bounce: null })],
    ['no list', JSON.stringify({ notificationType: 'Bounce', bounce: { bouncedRecipients: {} } })],
    [
      'odd recipients',
      JSON.stringify({ ...bounce, bounce: { bouncedRecipients: [null, 1, 'x', {}, [], usualOne] } }),
    ],
    ['delayed', withOne({ ...usualOne, action: 'Delayed' })],
    ['another action', withOne({ ...usualOne, action: 'relayed' })],
    ['without a diagnosis', withOne({ ...usualOne, diagnosticCode: undefined })],
    ['a blank one', withOne({ ...usualOne, diagnosticCode: 'smtp; ' })],
    ['one without a type', withOne({ ...usualOne, diagnosticCode: '452 4.2.2 full' })],
    ['without codes', withOne({ ...usualOne, diagnosticCode: 'X; gone', status: undefined })],
    ['a status that is none', withOne({ ...usualOne, diagnosticCode: 'X; gone', status: '5.1.1 x' })],
    ['a policy', withOne({ ...usualOne, status: '5.7.1' })],
    ['an address that is none', withOne({ ...usualOne, emailAddress: 'nobody' })],
    ['a complaint', JSON.stringify(complaint)],
    ['a complaint by its new name', JSON.stringify(complaint).replace('notificationType', 'eventType')],
    ['a complaint without a type', JSON.stringify({ ...complaint, complaint: { complainedRecipients: [] } })],
    ['a complaint without anything', JSON.stringify({ notificationType: 'Complaint' })],
    ['a complaint of no source', JSON.stringify({ ...complaint, mail: { source: '' } })],
    ['a complaint of null', JSON.stringify({ ...complaint, mail: null, complaint: null })],
  ] as const) {
    const complained = readSnsComplaint(said)
    facts.push([
      title,
      { bounced: told(readSnsBounce(said)), complained: complained && JSON.stringify(complained) },
    ])
  }
  facts.push([
    'cut off',
    byLength(Buffer.from(text), beginning => told(readSnsBounce(beginning.toString())), text.length - 3),
  ])
  sameFacts(t, 'sns', facts)
  for (const count of [reportRecipients, reportRecipients + 1]) {
    const bouncedRecipients = Array.from({ length: count }, () => usualOne)
    t.equal(
      readSnsBounce(JSON.stringify({ ...bounce, bounce: { bouncedRecipients } })).length,
      reportRecipients,
    )
  }
})

t.test('words that a reply repeats', async t => {
  const mailFrom = `b-${'1'.repeat(24)}@bounce.pod.example`
  const rcptTo = 'Bob@Users.There.Example'
  const texts = [
    'no Bob@users.there.example here',
    '<bob@users.there.example>: no',
    'xbob@users.there.example',
    'bob@users.there.example.org',
    'bob@users.there.example.',
    'bob@users.there.example-x',
    'bob@users.there.example_x',
    '.bob@users.there.example',
    '-bob@users.there.example',
    'bob@users.there.examplebob@users.there.example',
    `from ${mailFrom} no`,
    'bounce.pod.example is bad',
    'pod.example is bad',
    'example is bad',
    'x.pod.example',
    'xpod.example',
    'pod.example.net',
    'pod.example.',
    'ORCPT=rfc822;x@y no',
    'envid=abc no',
    'xorcpt=1 no',
    'orcpt= no',
  ]
  const quoted = [
    'no "such user" here',
    'no “such user” here',
    'no «such» here',
    "no 'such user' here",
    "isn't 'it' o'clock",
    "'a",
    'a"',
    '"a" "b',
    '"a\'b"c\'d',
    'don\'t "x" don\'t',
    '"" x',
    'a "b',
    '“a" b”',
    'see http://x.example/a?b c',
    'HTTPS://x',
    'xhttp://y',
    'file report.pdf here',
    'report.pdf,x',
    'a report.p here',
    'a.toolong1 b',
    'a.abcde b',
    'a.abcdef b',
    'a.1bc',
    'x@a.exe',
    '(report.exe)',
    'mail.there.example',
    'a.exe-b',
    'a.exe.b',
    'a.exe.',
    `${'n'.repeat(255)}.exe`,
    `${'n'.repeat(256)}.exe`,
  ]
  sameFacts(t, 'repeated-words', [
    ['addresses', texts.map(text => `${text} → ${withoutAddresses(text, { mailFrom, rcptTo })}`)],
    [
      'addresses, from nobody',
      texts.map(text => `${text} → ${withoutAddresses(text, { mailFrom: '', rcptTo })}`),
    ],
    ['of the message', quoted.map(text => `${text} → ${withoutMessageWords(text)}`.replace(/n{99,}/g, 'n…'))],
  ])
})

t.test('whom a notice names, and where its words end', async t => {
  const named = (text: string) => noticeIn(text).named.map(({ at, address }) => `${at} ${address}`)
  const local = 'l'.repeat(64)
  const domain = 'd'.repeat(255)
  for (const [text, wanted] of [
    ['To A@B.example, b@c.', ['3 a@b.example', '16 b@c']],
    ['a@b@c.example', ['0 a@b']],
    ['@a.example b@', []],
    ['x=a@b.example', ['2 a@b.example']],
    [
      '<a@b.example>"c@d.example"(e@f.example)[g@h.example];i@j.example',
      ['1 a@b.example', '14 c@d.example', '27 e@f.example', '40 g@h.example', '53 i@j.example'],
    ],
    ['a@b.example.!?*', ['0 a@b.example']],
    ['a@...', []],
    [`x${local}@b`, [`1 ${local}@b`]],
    [`a@${domain}`, [`0 a@${domain}`]],
    [`a@${domain}d`, [`0 a@${domain}`]],
  ] as const)
    t.strictSame(named(text), wanted, text.slice(0, 40))

  const listed = (text: string) => noticeIn(text).listed
  for (const line of [
    'a@b.example',
    '  a@b.example',
    '<a@b.example>',
    '* a@b.example',
    '> - a@b.example',
    'To: a@b.example',
    'Recipient: <a@b.example>',
    'Failed recipient address: a@b.example',
    'final recipients:a@b.example',
    'original address: "a@b.example"',
    'a@b.example.',
    '(a@b.example)',
    `${' '.repeat(40)}a@b.example`,
  ])
    t.strictSame(listed(`Hello\n${line}\nbye`), ['a@b.example'], line)
  for (const line of [
    'x a@b.example',
    'From: a@b.example',
    `${' '.repeat(41)}a@b.example`,
    '<<<<a@b.example',
    'postmaster@b.example',
    'mailer-daemon@b.example',
    'abuse@b.example',
    'helpdesk@b.example',
    'support@b.example',
    'admins+x@b.example',
    'mailto:a@b.example',
    'a@',
  ])
    t.strictSame(listed(`Hello\n${line}\nbye`), [], line)
  t.strictSame(listed('supports@b.example\nsupports@b.example\nc@d.example'), [
    'supports@b.example',
    'c@d.example',
  ])
  const many = Array.from({ length: reportRecipients + 1 }, (_, i) => `r${i}@b.example\n`).join('')
  t.equal(listed(many).length, reportRecipients)

  const paragraphs = (text: string) =>
    noticeIn(text).paragraphs.map(({ start, text: one }) => `${start} ${one}`)
  for (const [text, wanted] of [
    ['', []],
    ['\n \n', []],
    ['a', ['0 a']],
    ['a\nb', ['0 a\nb']],
    ['a\n\nb', ['0 a', '3 b']],
    ['\n\na\n\n\nb\n', ['2 a', '6 b']],
    ['a\n \t\nb\nc\n', ['0 a', '5 b\nc']],
    [' a \n\n b ', ['0  a ', '5  b ']],
  ] as const)
    t.strictSame(paragraphs(text), wanted, JSON.stringify(text))
  for (const count of [reportParagraphs, reportParagraphs + 1])
    t.equal(paragraphs('a\n\n'.repeat(count)).length, reportParagraphs)

  for (const [copy, hasFields] of [
    ['------ This is a copy of the message', false],
    ['--- Below this line is a copy', false],
    ['----- Original message -----', false],
    ['> -- Unsent message', false],
    ['==== The headers of it', false],
    ['||| body of it', false],
    ['*** message text follows', false],
    ['Below is a copy of it', false],
    ['Original message headers:', false],
    ['Your message reads', false],
    ['Content-Type: message/rfc822', true],
    ['content-type: text/rfc822-headers', true],
    ['Received: from x', true],
    ['Return-Path: <x>', true],
    ['DKIM-Signature: v=1', true],
  ] as const) {
    const found = noticeIn(`It failed.\n${copy}\nx@y.example`)
    t.strictSame([found.text, found.hasFields, found.named], ['It failed.\n', hasFields, []], copy)
  }
  for (const text of ['an original message', 'Content-Type: text/plain', 'not Received: x', 'Received by x'])
    t.equal(noticeIn(`It failed.\n${text}`).text, `It failed.\n${text}`, text)
  const both = noticeIn('a\nReceived: x\n-- Original message')
  t.strictSame([both.text, both.hasFields], ['a\n', true])
  t.equal(noticeIn(`${'x'.repeat(reportPartBytes)}y`).text.length, reportPartBytes)
})

t.test('bounces in words, cut off in each line', async t => {
  const written = [
    ...readWritten<{ id: string; from: string; subject: string; text: string }>('bounces'),
    ...readWritten<{ id: string; from: string; subject: string; text: string }>('bounces-2'),
  ]
  const facts: Facts[] = written
    .filter((_, at) => at % 5 === 0)
    .map(({ id, from, subject, text }) => {
      const header = readHeader(Buffer.from(`From: ${from}\r\n`))
      const read = (beginning: Buffer) =>
        told(
          readDsn(
            {
              header,
              subject,
              text: beginning.toString().replaceAll('\r', ''),
              isBounce: false,
              reportParts: [],
            },
            ['kim@dest.example'],
          ),
        )
      return [id, byLine(Buffer.from(`${text.replaceAll('\n', '\r\n')}\r\n`), read)]
    })
  sameFacts(t, 'bounces-cut-off', facts)
})
