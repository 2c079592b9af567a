import t from 'tap'
import { judge, type Stage } from '../../../lib/courier/smtp/judgement.ts'
import { readReply } from '../../../lib/courier/smtp/remote-reply.ts'
import { loadReplyRules, readReplyRules } from '../../../lib/courier/smtp/reply-rules.ts'
import { manyTimes } from '../../support/hostile.ts'

const rules = loadReplyRules()

function judged(stage: Stage, lines: string): string {
  const reply = readReply(lines)
  if (reply === undefined) throw new Error(`not a reply: ${lines}`)
  const { result, category } = judge(stage, reply, rules)
  return category === undefined ? result : `${result} ${category}`
}

const cases: readonly (readonly [Stage, string, string])[] = [
  // By the first digit, whatever the rest.
  ['message', '250 2.0.0 ok', 'delivered'],
  ['message', '299 whatever', 'delivered'],
  ['message', '354 go on', 'transient'],
  ['message', '499 hm', 'transient'],
  ['rcpt', '499 hm', 'transient'],
  ['rcpt', '599 hm', 'permanent'],
  ['message', '599 hm', 'permanent'],
  ['rcpt', '250 yes', 'transient'],
  ['rcpt', '452 4.5.3 Domain size limit exceeded', 'transient'],
  ['rcpt', '452 in a language that no rule knows', 'transient'],
  ['rcpt', '550 in a language that no rule knows', 'permanent'],
  ['data', '554 5.5.1 No valid recipients', 'permanent'],
  // By the stage.
  ['connect', '554 5.7.1 go away', 'transient'],
  ['connect', '550 5.1.1 no such user', 'transient recipient'],
  ['mail', '550 5.7.1 not from you', 'transient'],
  ['mail', '552 5.3.4 too large', 'permanent'],
  ['mail', '501 5.1.7 bad sender', 'permanent'],
  ['mail', '503 5.5.1 EHLO first', 'transient protocol'],
  ['message', '500 5.5.2 Syntax error, command unrecognized', 'transient protocol'],
  ['rcpt', '500 5.3.0 Error: command failed', 'permanent'],
  ['rcpt', '500 nobody', 'permanent'],
  ['mail', '530 5.7.0 Must issue a STARTTLS command first', 'transient protocol'],
  ['rcpt', '550 5.7.1 not to him', 'permanent'],
  ['rcpt', '552 too many recipients', 'transient'],
  ['rcpt', '552 5.3.4 message too big', 'permanent'],
  ['message', '552 5.3.4 message too big', 'permanent'],
  // By what the text says against the code.
  [
    'rcpt',
    '554 5.7.1 <b@there.example>: Recipient address rejected: Greylisted, see http://x',
    'transient greylist',
  ],
  ['rcpt', '550 Greylisting in action, please come back later', 'transient greylist'],
  ['rcpt', '550 5.7.0 Please try again later', 'transient greylist'],
  ['rcpt', '550 5.1.1 Mailbox temporarily unavailable', 'transient system'],
  ['rcpt', '550 5.2.1 The user is receiving mail too fast ReceivingRatePerm', 'transient rate'],
  ['rcpt', '552 5.2.2 The email account that you tried to reach is over quota', 'transient quota'],
  ['message', '552 5.2.2 Mailbox full', 'transient quota'],
  ['message', '554 Quota exceeded (mailbox for user is full)', 'transient quota'],
  ['rcpt', '550 account is overquota', 'transient quota'],
  ['rcpt', '452 4.2.2 The recipient inbox is out of storage space', 'transient quota'],
  ['rcpt', '552 5.2.2 https://support.example OverQuotaPerm', 'permanent quota'],
  [
    'rcpt',
    '554 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using zen.spamhaus.org',
    'transient blocklist',
  ],
  [
    'mail',
    '550 5.7.1 Unfortunately, messages from [192.0.2.1] were not sent. on our block list (S3150)',
    'transient blocklist',
  ],
  // What a suppression list wants to know.
  ['rcpt', '550 5.1.1 <b@there.example>: Recipient address rejected: User unknown', 'permanent recipient'],
  ['rcpt', '550 No such user here', 'permanent recipient'],
  ['rcpt', '553 sorry, this mailbox does not exist', 'permanent recipient'],
  ['rcpt', '550 5.4.1 Recipient address rejected: Access denied.', 'permanent'],
  ['message', '550 5.7.1 Message rejected as spam', 'permanent'],
  ['message', '550 5.7.26 Unauthenticated email is not accepted due to the DMARC policy', 'permanent'],
]

t.test('replies', async t => {
  for (const [stage, lines, expected] of cases) t.equal(judged(stage, lines), expected, `${stage}: ${lines}`)
})

t.test('a hostile text costs no time', async t => {
  const words = [
    'too many ',
    'try again ',
    'mailbox ',
    'client blocked ',
    'temporarily ',
    'x',
    ' ',
    'listed ip ',
  ]
  for (const word of words) t.type(judged('rcpt', `550 ${word.repeat(manyTimes)}`), 'string', word)
})

t.test('rules: one a line, faults with their line', async t => {
  t.match(readReplyRules('# x\n\n^550\ttransient\tgreylist\r\n'), [
    { result: 'transient', category: 'greylist' },
  ])
  for (const bad of [
    '^550 transient',
    '^550\tmaybe\tx',
    '^550\tcode\t',
    '^550\tcode\tx\ty',
    '\tcode\tx',
    '^5(\tcode\tx',
  ])
    t.throws(
      () => readReplyRules(`# x\n${bad}`),
      bad.startsWith('^5(') ? /regular expression/ : /line 2/,
      bad,
    )
  t.ok(rules.length >= 12 && rules.length <= 24, `${rules.length} rules`)
})
