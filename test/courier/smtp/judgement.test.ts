import t from 'tap'
import type { Stage } from '../../../lib/courier/outcome.ts'
import { judge } from '../../../lib/courier/smtp/judgement.ts'
import { readReply } from '../../../lib/courier/smtp/remote-reply.ts'
import { loadReplyRules } from '../../../lib/mail/report/reply-rules.ts'
import { manyTimes } from '../../support/hostile.ts'

const rules = loadReplyRules()

const named = { mailFrom: 'a@ours.example', rcptTo: 'b@there.example' }

function judged(stage: Stage, lines: string): string {
  const reply = readReply(lines)
  if (reply === undefined) throw new Error(`not a reply: ${lines}`)
  const { result, replyClass } = judge(stage, reply, rules, named)
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
  // Nobody is there, where the mail comes from.
  ['rcpt', '550 5.1.1 <sender> sender rejected: unknown user', 'permanent sender'],
  ['rcpt', '550 5.1.1 unknown user (sender)', 'permanent sender'],
  ['rcpt', '550 5.1.1 return path mailbox does not exist', 'permanent sender'],
  ['rcpt', '553 sorry, this mailbox does not exist', 'permanent recipient'],
  ['rcpt', '550 5.4.1 Recipient address rejected: Access denied.', 'permanent recipient'],
  ['message', '550 5.7.1 Message rejected as spam', 'permanent content'],
  ['message', '550 5.7.26 Unauthenticated email is not accepted due to the DMARC policy', 'permanent sender'],
]

t.test('replies', async t => {
  for (const [stage, lines, expected] of cases) t.equal(judged(stage, lines), expected, `${stage}: ${lines}`)
})

/** Words of the sender's choosing, in what a server says of a message. */
const chosen = [
  'no such user',
  'user unknown',
  'unknown user',
  'mailbox not found',
  'mailbox does not exist',
  'invalid recipient',
  'account disabled',
  'recipient unknown',
  'host not found',
  'utilisateur inconnu',
]
const aboutMessages: readonly ((words: string) => string)[] = [
  words => `550 Attachment ${words}.exe is not allowed`,
  words => `550 Attachment ${words}.exe is not allowed for b@there.example`,
  words => `550 Attachment "${words}.exe" is not allowed for b@there.example`,
  words => `550 Message to b@there.example rejected: header Subject '${words}' or “${words}” blocked`,
  words => `550 Message to b@there.example rejected: header Subject "${words}" blocked`,
  words => `550 Message rejected: header Subject "${words}" blocked`,
  words => `550 5.0.0 ${words}.exe not allowed`,
  words => `550 5.7.1 Attachment name "${words}.exe" may not end with ".exe"`,
  words => `552 Blocked file: ${words}.exe`,
  words => `550 "To: ${words}" syntax error in header`,
  words => `550 To: ${words} syntax error in header`,
  words => `554 Transaction failed: file name "${words}.exe" not permitted`,
  words => `554 message rejected: subject "550 5.1.1 ${words}" looks like a bounce`,
  words => `550 5.6.0 Subject: ${words}`,
  words => `550-Blacklisted URL\r\n550 http://${words.replaceAll(' ', '-')}.evil.example/`,
  words => `450 4.3.0 Attachment ${words}.exe is looked at`,
]

t.test('words of a message say nothing of its recipient', async t => {
  for (const words of chosen)
    for (const line of aboutMessages) {
      t.notMatch(judged('message', line(words)), /recipient/, line(words))
      t.match(
        judged('message', line(words)),
        line(words).startsWith('4') ? /^transient/ : /^permanent|reputation/,
      )
    }
})

t.test('who knows only after the message that nobody is there is believed', async t => {
  for (const line of [
    '550 5.1.1 no such user',
    '550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient not found by SMTP address lookup',
    '550 5.4.1 All recipient addresses rejected : Access denied [X.prod.protection.outlook.com]',
    '550 5.2.1 mailbox disabled',
    "554 delivery error: dd This user doesn't have a there.example account (b@there.example) [0] - mta1.there.example",
    '554 30 Sorry, your message to b@there.example cannot be delivered. This mailbox is disabled (554.30).',
    '550 Unknown user B@There.example',
    'no such user <b@there.example>'.replace(/^/, '550 '),
  ])
    t.equal(judged('message', line), 'permanent recipient', line)
})

t.test('names that a transaction gave are not words about the recipient', async t => {
  const odd = {
    mailFrom: 'no.such.user@bounce.recipient.unknown.evil.com',
    rcptTo: 'account.disabled@there.example',
  }
  for (const stage of ['rcpt', 'data', 'message'] as const)
    for (const line of [
      '550 <no.such.user@bounce.recipient.unknown.evil.com> rejected',
      '550 5.0.0 NO.SUCH.USER@bounce.recipient.unknown.evil.com may not write here',
      '550 domain bounce.recipient.unknown.evil.com not welcome',
      '550 recipient.unknown.evil.com: we do not like it',
      '550 Recipient takes nothing of unknown.evil.com.',
      '550 <account.disabled@there.example>: not from you',
      '501 bad ORCPT=rfc822;user;unknown and ENVID=no;user;unknown',
    ]) {
      const { replyClass, result } = judge(stage, readReply(line)!, rules, odd)
      t.not(replyClass, 'recipient', `${stage}: ${line}`)
      t.equal(result, 'permanent')
    }
  const gone = judge('rcpt', readReply('550 <account.disabled@there.example>: user unknown')!, rules, odd)
  t.equal(gone.replyClass, 'recipient', 'what is said of it counts')
  const ours = judge(
    'rcpt',
    readReply('550 no such user no.such.user@bounce.recipient.unknown.evil.com')!,
    rules,
    odd,
  )
  t.equal(ours.replyClass, 'sender')
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
  for (const word of [...words, '"', "'", '.a', 'a.exe ', 'b@there.example ', 'ours.example.'])
    for (const stage of ['rcpt', 'message'] as const)
      t.type(judged(stage, `550 ${word.repeat(manyTimes)}`), 'string', word)
})
