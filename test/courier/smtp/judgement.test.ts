import t from 'tap'
import { judge, type Stage } from '../../../lib/courier/smtp/judgement.ts'
import { readReply } from '../../../lib/courier/smtp/remote-reply.ts'
import { loadReplyRules } from '../../../lib/mail/report/reply-rules.ts'
import { manyTimes } from '../../support/hostile.ts'

const rules = loadReplyRules()

function judged(stage: Stage, lines: string): string {
  const reply = readReply(lines)
  if (reply === undefined) throw new Error(`not a reply: ${lines}`)
  const { result, replyClass } = judge(stage, reply, rules)
  return replyClass === undefined ? result : `${result} ${replyClass}`
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
  ['rcpt', '452 4.5.3 Domain size limit exceeded', 'transient protocol'],
  ['rcpt', '452 in a language that no rule knows', 'transient'],
  ['rcpt', '550 in a language that no rule knows', 'permanent'],
  ['data', '554 5.5.1 No valid recipients', 'permanent protocol'],
  // By the stage.
  ['connect', '554 5.7.1 go away', 'transient policy'],
  ['connect', '550 5.1.1 no such user', 'transient host'],
  ['connect', '521 there.example does not accept mail', 'permanent'],
  ['connect', '554 No SMTP service here', 'permanent host'],
  ['connect', '554 Your IP is listed at some.example', 'transient reputation'],
  ['mail', '550 5.1.1 no such user', 'permanent sender'],
  ['mail', '550 5.7.1 not from you', 'transient policy'],
  ['mail', '552 5.3.4 too large', 'permanent content'],
  ['mail', '501 5.1.7 bad sender', 'permanent sender'],
  ['mail', '503 5.5.1 EHLO first', 'transient protocol'],
  ['message', '500 5.5.2 Syntax error, command unrecognized', 'transient protocol'],
  ['rcpt', '500 5.3.0 Error: command failed', 'permanent host'],
  ['rcpt', '500 nobody', 'permanent'],
  ['mail', '530 5.7.0 Must issue a STARTTLS command first', 'transient protocol'],
  ['rcpt', '550 5.7.1 not to him', 'permanent policy'],
  ['rcpt', '552 too many recipients', 'transient'],
  ['rcpt', '552 5.3.4 message too big', 'permanent content'],
  ['message', '552 5.3.4 message too big', 'permanent content'],
  // By what the text says against the code.
  [
    'rcpt',
    '554 5.7.1 <b@there.example>: Recipient address rejected: Greylisted, see http://x',
    'transient greylist',
  ],
  ['rcpt', '550 Greylisting in action, please come back later', 'transient greylist'],
  ['rcpt', '550 5.7.0 Please try again later', 'transient greylist'],
  ['rcpt', '550 5.1.1 Mailbox temporarily unavailable', 'transient host'],
  ['rcpt', '550 5.2.1 The user is receiving mail too fast ReceivingRatePerm', 'transient rate'],
  ['rcpt', '552 5.2.2 The email account that you tried to reach is over quota', 'transient full'],
  ['message', '552 5.2.2 Mailbox full', 'transient full'],
  ['message', '554 Quota exceeded (mailbox for user is full)', 'transient full'],
  ['rcpt', '550 account is overquota', 'transient full'],
  ['rcpt', '452 4.2.2 The recipient inbox is out of storage space', 'transient full'],
  ['rcpt', '552 5.2.2 https://support.example OverQuotaPerm', 'permanent full'],
  [
    'rcpt',
    '554 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using zen.spamhaus.org',
    'transient reputation',
  ],
  [
    'mail',
    '550 5.7.1 Unfortunately, messages from [192.0.2.1] were not sent. on our block list (S3150)',
    'transient reputation',
  ],
  // What a suppression list wants to know.
  ['rcpt', '550 5.1.1 <b@there.example>: Recipient address rejected: User unknown', 'permanent recipient'],
  ['rcpt', '550 No such user here', 'permanent recipient'],
  ['rcpt', '553 sorry, this mailbox does not exist', 'permanent recipient'],
  ['rcpt', '550 5.4.1 Recipient address rejected: Access denied.', 'permanent recipient'],
  ['message', '550 5.7.1 Message rejected as spam', 'permanent content'],
  ['message', '550 5.7.26 Unauthenticated email is not accepted due to the DMARC policy', 'permanent sender'],
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
