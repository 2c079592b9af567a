import t, { type Test } from 'tap'
import { operator } from '../../../lib/core/app/caller.ts'
import { deliver } from '../../../lib/core/delivery/deliver.ts'
import { send } from '../../../lib/core/outbound/send.ts'
import { findDestination } from '../../../lib/store/destinations.ts'
import { type Script, startPeer } from '../../courier/smtp/scripted-peer.ts'
import { claim } from '../../support/claim.ts'
import { startDns } from '../../support/dns.ts'
import { freePort } from '../../support/ports.ts'
import { openDoor } from '../../support/smtp-door.ts'

/** What becomes of the mail, what is thought of the host, and after how many minutes it is tried again, about. */
interface Expected {
  readonly state: 'delivered' | 'deferred' | 'failed'
  readonly host: 'answers' | 'fails'
  readonly nextMinutes?: number
  readonly replyClass?: string
  readonly code?: number
  readonly enhanced?: string
  readonly isSuppressed?: true
  /** What the peer was said in the course of it. */
  readonly said?: RegExp
  readonly unsaid?: RegExp
}

const offer = (...extensions: readonly string[]) =>
  ['250-peer.test', ...extensions.map(each => `250-${each}`), '250 SIZE 0'].join('\r\n')
const silence = { next: 'silence' } as const
const drip = { next: 'drip' } as const
const later = (more: Partial<Expected> = {}): Expected => ({
  state: 'deferred',
  host: 'answers',
  nextMinutes: 1,
  ...more,
})
const broken = (more: Partial<Expected> = {}): Expected =>
  later({ host: 'fails', nextMinutes: 0.45, ...more })
const bounced = (more: Partial<Expected> = {}): Expected => ({ state: 'failed', host: 'answers', ...more })
const taken = (more: Partial<Expected> = {}): Expected => ({ state: 'delivered', host: 'answers', ...more })

const cases: readonly (readonly [string, Script, Expected, to?: string])[] = [
  // It hangs. What it does once it has greeted us may be for the sender, the recipient or the message, and is nothing of the host.
  ['silent instead of a greeting', { greeting: silence }, broken({ enhanced: '4.4.1' })],
  ['silent at EHLO', { EHLO: silence }, broken()],
  ['silent at MAIL', { MAIL: silence }, later({ enhanced: '4.4.2' })],
  ['silent at RCPT', { RCPT: silence }, later({ enhanced: '4.4.2' })],
  ['silent at DATA', { DATA: silence }, later({ enhanced: '4.4.2' })],
  ['silent in the message', { duringMessage: silence }, later({ enhanced: '4.4.2' })],
  ['silent after the message', { message: silence }, later({ enhanced: '4.4.2' })],
  ['silent at QUIT', { QUIT: silence }, taken()],
  // It tarpits: a byte now and then, and never the end of a line.
  ['a dripping greeting', { greeting: drip }, broken()],
  ['dripping at EHLO', { EHLO: drip }, broken()],
  ['dripping at MAIL', { MAIL: drip }, later()],
  ['dripping after the message', { message: drip }, later()],
  // It drops.
  ['closed instead of a greeting', { greeting: { next: 'close' } }, broken()],
  ['reset at EHLO', { EHLO: { next: 'reset' } }, broken()],
  ['closed at RCPT', { RCPT: { next: 'close' } }, later({ enhanced: '4.4.2' })],
  ['reset in the message', { duringMessage: { next: 'reset' } }, later({ enhanced: '4.4.2' })],
  ['closed after the message', { message: { next: 'close' } }, later({ enhanced: '4.4.2' })],
  ['closed at QUIT', { QUIT: { next: 'close' } }, taken()],
  // It says no, for now.
  ['greylisted', { RCPT: '450 4.2.0 Greylisted, try again' }, later({ replyClass: 'greylist' })],
  [
    'a rate',
    { MAIL: '450 4.7.1 Too many messages, rate limited' },
    later({ replyClass: 'rate', nextMinutes: 15 }),
  ],
  ['421 for a rate', { RCPT: '421 4.7.28 rate limit' }, later({ replyClass: 'rate', nextMinutes: 15 })],
  ['a full mailbox', { RCPT: '452 4.2.2 mailbox full' }, later({ replyClass: 'full', nextMinutes: 60 })],
  [
    'a listed address',
    { RCPT: '451 4.7.1 listed by zen.spamhaus.org' },
    later({ replyClass: 'reputation', nextMinutes: 60 }),
  ],
  ['a fault of its own', { message: '451 4.3.0 local error' }, later({ code: 451, enhanced: '4.3.0' })],
  ['421 instead of a greeting', { greeting: '421 4.3.2 busy' }, later({ code: 421 })],
  // It says no, for good.
  [
    'nobody of that name',
    { RCPT: '550 5.1.1 no such user' },
    bounced({ replyClass: 'recipient', isSuppressed: true }),
  ],
  [
    'nobody of that name, known after the message',
    { message: '550 5.1.1 no such user' },
    bounced({ replyClass: 'recipient', isSuppressed: true }),
  ],
  ['what may be a name of a file', { message: '550 no such user.exe is not allowed' }, bounced()],
  [
    'a full mailbox for good',
    { RCPT: '552 5.2.2 mailbox full' },
    later({ replyClass: 'full', nextMinutes: 60 }),
  ],
  ['content', { message: '554 5.7.1 message looks like spam' }, bounced({ replyClass: 'content' })],
  ['no relaying', { RCPT: '550 5.7.1 relaying denied' }, bounced()],
  ['the sender', { MAIL: '553 5.1.8 sender address rejected' }, bounced()],
  ['too large', { MAIL: '552 5.3.4 message too big' }, bounced()],
  ['no mail here', { greeting: '554 5.3.2 no mail here' }, bounced({ host: 'fails', code: 554 })],
  // It breaks TLS, which only a policy demands.
  ['TLS refused', { EHLO: offer('STARTTLS'), STARTTLS: '454 4.7.0 not now' }, taken()],
  [
    'TLS broken',
    { EHLO: offer('STARTTLS'), STARTTLS: '220 go', handshake: { say: 'what?', next: 'silence' } },
    taken(),
  ],
  ['silent at STARTTLS', { EHLO: offer('STARTTLS'), STARTTLS: silence }, broken()],
  // It lacks what is to be had, or speaks otherwise.
  ['no EHLO', { EHLO: '502 5.5.1 what?' }, taken({ said: /^HELO /m })],
  ['no extension at all', { EHLO: offer() }, taken({ unsaid: /BODY=|SMTPUTF8/ })],
  ['no DSN', { EHLO: offer('8BITMIME') }, taken({ unsaid: /NOTIFY|RET=/ })],
  [
    'no SMTPUTF8',
    { EHLO: offer('8BITMIME') },
    bounced({ enhanced: '5.6.7', unsaid: /RCPT/ }),
    'bØb@theirs.example',
  ],
  ['SMTPUTF8', { EHLO: offer('8BITMIME', 'SMTPUTF8') }, taken({ said: /SMTPUTF8/ }), 'bØb@theirs.example'],
  ['a quoted local part', {}, taken({ said: /^RCPT TO:<"a b"@theirs\.example>/m }), '"a b"@theirs.example'],
  [
    'less than our size',
    { EHLO: '250-peer.test\r\n250 SIZE 10' },
    bounced({ enhanced: '5.3.4', unsaid: /MAIL/ }),
  ],
  [
    'words in Latin-1',
    { RCPT: Buffer.from('550 5.1.1 kein Empfänger', 'latin1').toString('latin1') },
    bounced({ isSuppressed: true }),
  ],
  ['words in UTF-8', { RCPT: '451 4.3.0 später' }, later({ enhanced: '4.3.0' })],
]

async function setUp(t: Test, script: Script, isWaitedFor: boolean) {
  const mxPort = await freePort('127.0.0.9')
  const dns = await startDns({
    'theirs.example': { MX: [{ priority: 1, exchange: 'mx.theirs.example' }] },
    'mx.theirs.example': { A: ['127.0.0.9'] },
  })
  const peer = await startPeer('127.0.0.9', mxPort, script)
  // Only who says nothing, or no line, is waited for.
  const ms = isWaitedFor ? 1000 : 30_000
  const smtpTimeouts = {
    commandMs: ms,
    greetingMs: ms,
    dataBlockMs: ms,
    finalReplyMs: ms,
    resetMs: 1000,
    quitMs: 100,
    totalMs: 3 * ms,
  }
  const door = await openDoor(t, { dns: dns.server, mxPort, smtpTimeouts, toml: '[delivery]\nmode = "mx"' })
  return { ...door, peer, dns, inboxId: await door.inbox('ann') }
}

t.test(
  'what a mail server can do wrong, and what becomes of the mail, the host and the next attempt',
  async t => {
    for (const [name, script, expected, to = 'bob@theirs.example'] of cases) {
      await t.test(name, async t => {
        const { app, peer, dns, inboxId } = await setUp(t, script, /^(?:a )?(?:silent|dripping)/.test(name))
        try {
          await send(app, operator, inboxId, { to, subject: 'Hi', body: 'Hello' }, name)
          const [entry] = await claim(app.queue, 'delivery')
          await deliver(app, entry!)
          const row = await app.store.read.selectFrom('delivery').selectAll().executeTakeFirstOrThrow()
          t.match(row, {
            state: expected.state,
            ...(expected.code !== undefined && { replyCode: expected.code }),
            ...(expected.enhanced !== undefined && { replyEnhanced: expected.enhanced }),
            ...(expected.replyClass !== undefined && { replyClass: expected.replyClass }),
          })
          const failures = (await findDestination(app.store.read, 'theirs.example'))?.failures ?? 0
          t.equal(failures > 0 ? 'fails' : 'answers', expected.host, `${row.replyText}`)
          const queued = await app.store.read.selectFrom('queueEntry').selectAll().execute()
          if (expected.nextMinutes === undefined) t.same(queued, [])
          else {
            const minutes = (Date.parse(row.nextAttemptAt!) - Date.parse(row.updatedAt)) / 60_000
            t.ok(
              minutes > expected.nextMinutes * 0.85 && minutes < expected.nextMinutes * 1.15,
              `${minutes} minutes`,
            )
          }
          const suppressed = await app.store.read.selectFrom('suppression').select('recipient').execute()
          t.equal(suppressed.length, expected.isSuppressed ? 1 : 0)
          const said = peer.commands.join('\n')
          if (expected.said) t.match(said, expected.said)
          if (expected.unsaid) t.notMatch(said, expected.unsaid)
        } finally {
          await app.courier.close()
          await peer.close()
          await dns.close()
        }
      })
    }
  },
)

t.test('what DNS and our own guard say of the servers is about them, and suppresses nobody', async t => {
  const { app, peer, dns, inboxId } = await setUp(t, {}, false)
  try {
    dns.set('bare.example', 'MX', [{ priority: 1, exchange: 'mx.bare.example' }])
    dns.set('mx.bare.example', 'A', [])
    dns.set('zero.example', 'MX', [{ priority: 1, exchange: 'mx.zero.example' }])
    dns.set('mx.zero.example', 'A', ['0.0.0.0'])
    for (const to of ['bob@bare.example', 'bob@zero.example']) {
      await send(app, operator, inboxId, { to, subject: 'Hi', body: 'Hello' }, to)
      const [entry] = await claim(app.queue, 'delivery')
      await deliver(app, entry!)
      await send(app, operator, inboxId, { to, subject: 'Hi', body: 'Hello again' }, `${to} again`)
      await claim(app.queue, 'delivery')
    }
    const rows = await app.store.read.selectFrom('delivery').selectAll().orderBy('id').execute()
    t.strictSame(
      rows
        .filter(({ state }) => state === 'failed')
        .map(({ recipient, replyClass }) => [recipient, replyClass]),
      [
        ['bob@bare.example', 'host'],
        ['bob@zero.example', 'host'],
      ],
    )
    t.strictSame(await app.store.read.selectFrom('suppression').selectAll().execute(), [])
  } finally {
    await app.courier.close()
    await peer.close()
    await dns.close()
  }
})
