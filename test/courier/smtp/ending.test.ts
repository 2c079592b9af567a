import t from 'tap'
import type { Stage } from '../../../lib/courier/outcome.ts'
import { endingOf, moreTelling, passedOver } from '../../../lib/courier/smtp/ending.ts'
import { loadReplyRules } from '../../../lib/mail/report/reply-rules.ts'

const rules = loadReplyRules()
const named = { mailFrom: 'a@ours.example', rcptTo: 'x@there.example' }
const after: readonly Stage[] = ['mail', 'rcpt', 'data', 'message']
const every: readonly Stage[] = ['connect', ...after]

function shown(stage: Stage, lines: string) {
  return endingOf({ stage, lines, text: '', isLost: false, sent: 'none' }, rules, named).outcome.showing
}

const cases: readonly (readonly [readonly Stage[], 'answers' | 'slows' | 'fails', string])[] = [
  // At the door.
  [['connect'], 'slows', '421 4.3.2 All server ports are busy'],
  [['connect'], 'slows', '421 4.7.0 mx.there.example Error: too many connections from your address'],
  [['connect'], 'slows', '421 busy'],
  [['connect'], 'slows', '450 4.7.1 later'],
  [['connect'], 'slows', '454 too many concurrent sessions'],
  [['connect'], 'slows', '554 5.7.1 rate limit exceeded'],
  [['connect'], 'slows', '421 4.7.0 too many errors'],
  [['connect'], 'fails', '554 5.7.1 not you'],
  [['connect'], 'fails', '450 4.3.0 out of order'],
  // The connection, or who connects, at any verb.
  [every, 'slows', '421 4.7.0 too many connections'],
  [
    every,
    'slows',
    '421-4.7.28 unusual rate of mail originating from your IP address\r\n421 4.7.28 rate limited',
  ],
  [['connect', 'mail', 'rcpt', 'data'], 'slows', '421 4.3.2 shutting down'],
  [
    ['connect', 'mail', 'rcpt', 'data'],
    'slows',
    '421-4.3.0 Temporary System Problem.\r\n421 4.3.0 Try again later',
  ],
  [['mail', 'rcpt'], 'slows', '450 4.7.1 Error: too much mail from 192.0.2.7'],
  [['mail', 'rcpt'], 'slows', '450 4.7.1 Error: too many recipients from 192.0.2.7'],
  [['mail', 'rcpt'], 'slows', '451 4.7.650 The mail server [192.0.2.7] has been temporarily rate limited'],
  [['mail', 'rcpt'], 'slows', '451 4.7.1 too much from [2001:db8:1:2::7], later'],
  [['mail', 'rcpt'], 'slows', '452 too many connections from you'],
  // What was refused in this session, by whom one sender wrote to: the next session begins anew.
  [['mail', 'rcpt', 'data'], 'answers', '421 4.7.0 mx.there.example Error: too many errors'],
  [['mail', 'rcpt', 'data'], 'answers', '421 4.7.0 Too many unknown recipients'],
  [['mail', 'rcpt', 'data'], 'answers', '421 too many bad recipients from your host'],
  // One mailbox, one sender, one message.
  [after, 'answers', '454 4.7.1 <x@there.example>: Relay access denied'],
  [after, 'answers', '450 4.2.1 The user you are trying to contact is receiving mail at a rate that'],
  [after, 'answers', '450 4.7.1 greylisted'],
  [after, 'answers', '452 4.2.2 mailbox full'],
  [after, 'answers', '451 4.7.24 SPF of the sender domain fails for now'],
  [after, 'answers', '450 too many messages for this user'],
  [after, 'answers', '550 5.1.1 no such user'],
  [after, 'answers', '421 4.7.26 the sender domain is not authenticated (SPF, DKIM)'],
  [after, 'answers', '421 4.2.2 mailbox full'],
  [['data', 'message'], 'answers', '450 4.7.1 too many connections from your ip'],
  [after, 'answers', '451 4.7.1 Greylisted: this server will accept it in 5 minutes'],
  [after, 'answers', '451 4.7.1 Greylisting in action for [192.0.2.1], please come back in 5 minutes'],
  [after, 'answers', '450 4.7.1 SPF check: 192.0.2.1 is not allowed to send mail from evil.example'],
  [after, 'answers', '451 4.7.1 SPF temperror for evil.example; your server may not be allowed'],
  // Google's, of a sender's domain, its proof, or the links of a message.
  [
    after,
    'answers',
    '421-4.7.26 Your email has been rate limited because it is unauthenticated. Gmail requires all\r\n421-4.7.26 senders to authenticate with either SPF or DKIM. SPF [evil.example] with ip: [192.0.2.1] =\r\n421 4.7.26 did not pass',
  ],
  [
    after,
    'answers',
    '421-4.7.28 Gmail has detected an unusual rate of unsolicited mail originating\r\n421-4.7.28 from your SPF domain [evil.example]. To protect our users, mail sent\r\n421 4.7.28 from your domain has been temporarily rate limited. gsmtp',
  ],
  [
    after,
    'answers',
    '421-4.7.28 unusual rate of unsolicited mail originating from your DKIM domain [evil.example].\r\n421 4.7.28 gsmtp',
  ],
  [
    after,
    'answers',
    '421-4.7.28 unusual rate of unsolicited mail containing one of your URL domains. To protect\r\n421 4.7.28 our users, mail with the URL has been temporarily rate limited. gsmtp',
  ],
  [after, 'answers', "421 4.7.32 rate limited because the From: header isn't aligned with SPF or DKIM"],
  [after, 'answers', '421 4.7.24 rate limited because the sending domain has one or more suspicious entries'],
  [after, 'answers', '421 4.7.40 rate limited because the sending domain has no DMARC record'],
  [after, 'answers', '421 4.7.27 rate limited because SPF did not pass for ip: [192.0.2.1]'],
  [after, 'answers', '421 4.7.0 This message is suspicious due to the nature of the links within.'],
  // A message made it hang up, as far as it says.
  [['message'], 'answers', '421 4.3.2 shutting down'],
  [['message'], 'answers', '421-4.3.0 Temporary System Problem. Try again later (10).\r\n421 4.3.0 gsmtp'],
  [['message'], 'answers', '421 4.7.1 rate limit for mail with http://192.0.2.9/'],
  [['message'], 'answers', '421 too much of "your ip is 192.0.2.9"'],
  [['message'], 'answers', '421 4.7.1 too much of 192.0.2.9'],
  [
    ['message'],
    'slows',
    '421 4.7.0 [TSS04] Messages from 192.0.2.1 temporarily deferred due to user complaints',
  ],
  // What is repeated of an address was chosen by who sends to it.
  [['rcpt'], 'answers', '450 4.7.1 <"too many connections from your ip"@there.example>: no'],
  [['rcpt'], 'answers', '450 4.7.1 "too many connections"@there.example: no'],
  [['rcpt'], 'answers', '450 4.7.1 your-ip@there.example sent too many messages'],
  [['mail'], 'answers', '450 4.7.1 <b-x@bounce.1.2.3.4.evil.example>: not now'],
  [['mail'], 'answers', '450 4.7.1 bounce.1.2.3.4.evil.example: not now'],
]

t.test('what a reply shows of servers that many share', async t => {
  for (const [stages, showing, lines] of cases)
    for (const stage of stages) t.equal(shown(stage, lines), showing, `${stage}: ${lines}`)
})

const lost = (stage: Stage, sent: 'none' | 'part' | 'all', lines?: string) =>
  endingOf(
    { stage, text: 'read ECONNRESET', isLost: lines === undefined, sent, ...(lines && { lines }) },
    rules,
    named,
  )

t.test(
  'a host that was there and answered nothing shows nothing, and that the others do not answer neither',
  async t => {
    const gone = lost('connect', 'none')
    t.equal(gone.outcome.showing, 'fails', 'at the door it answers nobody')
    t.equal(lost('connect', 'none', 'SSH-2.0').outcome.showing, 'fails')
    for (const stage of after)
      for (const sent of ['none', 'part', 'all'] as const)
        for (const lines of [undefined, 'what?', '550-no\r\n250 yes']) {
          const ending = lost(stage, sent, lines)
          t.match(ending, {
            outcome: { result: 'transient', showing: undefined },
            isFinal: sent === 'all',
          })
          for (const both of [moreTelling(gone, ending), moreTelling(ending, gone)]) {
            t.equal(both.outcome.showing, undefined, `${stage} ${sent}`)
            t.equal(moreTelling(both, gone).outcome.showing, undefined, 'nor that a third does not')
          }
        }
    const answered = endingOf(
      { stage: 'rcpt', text: '', lines: '450 no', isLost: false, sent: 'none' },
      rules,
      named,
    )
    const away = endingOf(
      { stage: 'connect', text: '', lines: '554 5.7.1 no', isLost: false, sent: 'none' },
      rules,
      named,
    )
    t.equal(away.outcome.showing, 'fails')
    for (const other of [gone, away, lost('message', 'part')])
      for (const both of [moreTelling(other, answered), moreTelling(answered, other)])
        t.equal(both.outcome.showing, 'answers')
  },
)

t.test('what was not tried shows nothing; of two, what either shows', async t => {
  const untried = passedOver('192.0.2.1', 5)
  const silent = endingOf({ stage: 'connect', text: 'nothing', isLost: true, sent: 'none' }, rules, named)
  t.equal(untried.outcome.showing, undefined)
  t.match(moreTelling(untried, passedOver('2001:db8::1', 5)).outcome, { text: /192/, triedAgainInMs: 5 })
  t.equal(moreTelling(untried, passedOver('192.0.2.2', 5)).outcome.showing, undefined)
  for (const [first, second] of [
    [untried, silent],
    [silent, untried],
  ] as const)
    t.equal(moreTelling(first, second).outcome.showing, 'fails')
})

t.test('only what is said to be for now makes others wait with it', async t => {
  const isDeferral = (stage: Stage, lines: string) =>
    endingOf({ stage, lines, text: '', isLost: false, sent: 'none' }, rules, named).isDeferral
  t.equal(isDeferral('rcpt', '450 4.2.1 later'), true)
  t.equal(isDeferral('rcpt', '499 later'), true)
  // A host that refuses everybody: for us it is for now, and was not said to be.
  for (const lines of ['500 not now', '554 5.7.1 not you'])
    t.equal(isDeferral('connect', lines), false, lines)
  t.equal(isDeferral('rcpt', '550 5.1.1 no such user'), false)
})
