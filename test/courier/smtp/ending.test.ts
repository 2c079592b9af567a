import t from 'tap'
import { endingOf, moreTelling, passedOver } from '../../../lib/courier/smtp/ending.ts'
import type { Stage } from '../../../lib/courier/smtp/judgement.ts'
import { loadReplyRules } from '../../../lib/mail/report/reply-rules.ts'

const rules = loadReplyRules()
const after: readonly Stage[] = ['mail', 'rcpt', 'data', 'message']
const every: readonly Stage[] = ['connect', ...after]

function shown(stage: Stage, lines: string) {
  return endingOf({ stage, lines, text: '', isLost: false, sent: 'none' }, rules).outcome.showing
}

const cases: readonly (readonly [readonly Stage[], 'answers' | 'slows' | 'fails', string])[] = [
  // At the door.
  [['connect'], 'slows', '421 4.3.2 All server ports are busy'],
  [['connect'], 'slows', '421 4.7.0 mx.there.example Error: too many connections from your address'],
  [['connect'], 'slows', '421 busy'],
  [['connect'], 'slows', '450 4.7.1 later'],
  [['connect'], 'slows', '454 too many concurrent sessions'],
  [['connect'], 'slows', '554 5.7.1 rate limit exceeded'],
  [['connect'], 'fails', '554 5.7.1 not you'],
  [['connect'], 'fails', '450 4.3.0 out of order'],
  // The connection, or who connects, at any verb.
  [every, 'slows', '421 4.7.0 too many connections'],
  [
    every,
    'slows',
    '421-4.7.28 unusual rate of mail originating from your IP address\r\n421 4.7.28 rate limited',
  ],
  [every, 'slows', '421 4.3.2 shutting down'],
  [['mail', 'rcpt'], 'slows', '450 4.7.1 Error: too much mail from 192.0.2.7'],
  [['mail', 'rcpt'], 'slows', '450 4.7.1 Error: too many recipients from 192.0.2.7'],
  [['mail', 'rcpt'], 'slows', '451 4.7.650 The mail server [192.0.2.7] has been temporarily rate limited'],
  [['mail', 'rcpt'], 'slows', '451 4.7.1 too much from [2001:db8:1:2::7], later'],
  [['mail', 'rcpt'], 'slows', '452 too many connections from you'],
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

t.test('what was not tried shows nothing; of two, what either shows', async t => {
  const untried = passedOver('192.0.2.1', 5)
  const silent = endingOf({ stage: 'connect', text: 'nothing', isLost: true, sent: 'none' }, rules)
  t.equal(untried.outcome.showing, undefined)
  t.match(moreTelling(untried, passedOver('2001:db8::1', 5)).outcome, { text: /192/, triedAgainInMs: 5 })
  t.equal(moreTelling(untried, passedOver('192.0.2.2', 5)).outcome.showing, undefined)
  for (const [first, second] of [
    [untried, silent],
    [silent, untried],
  ] as const)
    t.equal(moreTelling(first, second).outcome.showing, 'fails')
})
