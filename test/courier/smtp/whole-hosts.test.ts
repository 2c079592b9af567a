import t, { type Test } from 'tap'
import { type Clock, systemClock } from '../../../lib/base/time.ts'
import { createDns } from '../../../lib/courier/dns.ts'
import { isOutcome, type Result, type Stage } from '../../../lib/courier/outcome.ts'
import { loadProviders } from '../../../lib/courier/providers.ts'
import { AddressStanding } from '../../../lib/courier/smtp/address-standing.ts'
import { createSmtpCourier, type SmtpCourierOptions } from '../../../lib/courier/smtp/courier.ts'
import { type Ending, endingOf, moreTelling, passedOver } from '../../../lib/courier/smtp/ending.ts'
import { findDecision } from '../../../lib/courier/smtp/last-words.ts'
import { canConnect, probeDoor } from '../../../lib/courier/smtp/probe.ts'
import { readReply } from '../../../lib/courier/smtp/remote-reply.ts'
import { TlsMemory, tlsBrokenMs, tlsSessionBytes, tlsSessions } from '../../../lib/courier/smtp/tls-memory.ts'
import { loadReplyRules } from '../../../lib/mail/report/reply-rules.ts'
import { startDns } from '../../support/dns.ts'
import { byLength, type Facts, sameFacts } from '../../support/kept-facts.ts'
import { freePort } from '../../support/ports.ts'
import { delivery, loopbackGuard, raw } from '../loopback.ts'
import { type Script, startPeer } from './scripted-peer.ts'
import { plainly, settled } from './settled.ts'

const rules = loadReplyRules()
const providers = loadProviders()
const addresses = [2, 3, 4, 5, 6, 7, 8, 9].map(last => `127.0.0.${last}`)
/** Nobody listens there. */
const nobody = '127.0.0.10'

/** An MX host: what it does at each of its addresses. */
interface Host {
  readonly preference: number
  readonly at: readonly (Script | 'nobody' | 'not allowed' | 'ours')[]
}

/** Carries to hosts of a domain; gives what became of it, and what was said of each. */
async function openDomain(t: Test) {
  const port = await freePort(...addresses, nobody)
  const scripts: Script[] = []
  const peers = await Promise.all(
    addresses.map((address, at) => startPeer(address, port, () => scripts[at] ?? {})),
  )
  const dns = await startDns({})
  t.teardown(() => Promise.all([dns.close(), ...peers.map(peer => peer.close())]))
  return async (
    hosts: readonly Host[],
    {
      more = {},
      options = {},
      times = 1,
      hasTurn = true,
    }: {
      more?: object
      options?: Partial<SmtpCourierOptions>
      times?: number
      hasTurn?: boolean
    } = {},
  ): Promise<string[]> => {
    const said: string[] = []
    const own: string[] = []
    let at = 0
    dns.set(
      'there.example',
      'MX',
      hosts.map(({ preference }, index) => ({ priority: preference, exchange: `mx${index}.there.example` })),
    )
    const used: number[] = []
    for (const [index, host] of hosts.entries()) {
      const its = host.at.map(what => {
        if (what === 'nobody') return nobody
        if (what === 'not allowed') return '192.0.2.1'
        const address = addresses[at]!
        scripts[at] = typeof what === 'string' ? {} : what
        used.push(at++)
        if (what === 'ours') own.push(address)
        return address
      })
      dns.set(`mx${index}.there.example`, 'A', its)
    }
    const before = peers.map(({ commands }) => commands.length)
    const courier = createSmtpCourier({
      dns: createDns({ servers: [dns.server], timeoutMs: 20_000 }),
      clock: systemClock,
      hostname: 'here.example',
      guard: loopbackGuard,
      port,
      rules,
      providers,
      random: () => 0.5,
      ownAddresses: own,
      ...options,
    })
    for (let time = 0; time < times; time++) {
      const outcome = await courier.carry(delivery(more), raw, {
        isFirst: false,
        isWaitedFor: () => false,
        commit: () => void said.push('committed'),
        async mayGoTo(destination) {
          said.push(`turn of ${destination.replace(/:[\w-]{22}$/, '')}`)
          return hasTurn
        },
      })
      said.push(...shownOutcome(outcome))
    }
    await settled()
    await courier.close()
    await settled()
    await Promise.all(peers.map(peer => peer.ended()))
    for (const one of used)
      said.push(
        `${addresses[one]}: ${peers[one]!.commands.slice(before[one])
          .map(line => line.split(/[ :]/)[0])
          .join(' ')}`,
      )
    return said
  }
}

function shownOutcome(given: Result): string[] {
  if (!isOutcome(given)) return [given.result]
  const { durationMs, ...outcome } = given
  const { result, text, code, enhanced, host, address, ...more } = outcome
  const what = [code, enhanced, host, address].filter(one => one !== undefined).join(' ')
  const then = typeof more.triedAgainInMs === 'number' ? { ...more, triedAgainInMs: 'some ms' } : more
  return [`${result} ${what}: ${plainly(text)}`, JSON.stringify(then)]
}

const one = (what: Host['at'][number]): Host => ({ preference: 10, at: [what] })
const kinds: Readonly<Record<string, Host>> = {
  'takes it': one({}),
  'no such user': one({ RCPT: '550 5.1.1 no such user' }),
  greylists: one({ RCPT: '450 4.2.0 greylisted' }),
  'is busy': one({ greeting: '421 4.7.0 too many connections' }),
  'wants no mail of ours': one({ greeting: '554 5.7.1 listed' }),
  'takes no mail': one({ greeting: '521 no mail here' }),
  'refuses the sender': one({ MAIL: '550 5.7.1 no' }),
  'closes at once': one({ greeting: { next: 'close' } }),
  'closes at MAIL': one({ MAIL: { next: 'close' } }),
  'is no SMTP': one({ greeting: 'SSH-2.0' }),
  'has no 8BITMIME': one({ EHLO: '250 peer' }),
  'has a fault': one({ message: '451 4.3.0 disk' }),
  'is lost at the end': one({ message: { next: 'close' } }),
  'is not there': one('nobody'),
  'is not allowed': one('not allowed'),
  'is ours': one('ours'),
  'has no address': { preference: 10, at: [] },
}

t.test('one host after the other', async t => {
  const carry = await openDomain(t)
  const facts: Facts[] = []
  const more = { is8Bit: true }
  const seconds = [
    'takes it',
    'no such user',
    'greylists',
    'takes no mail',
    'closes at MAIL',
    'is not there',
    'is ours',
  ]
  for (const [first, host] of Object.entries(kinds)) {
    facts.push([first, await carry([host], { more })])
    for (const second of seconds)
      facts.push([
        `${first}, then one ${second}`,
        await carry([host, { ...kinds[second]!, preference: 20 }], { more }),
      ])
  }
  const greylists = kinds.greylists!.at[0]!
  const four = (...at: Host['at']): Host => ({ preference: 10, at })
  const groups: Readonly<Record<string, readonly Host[]>> = {
    'seven that put it off': [
      four(greylists, greylists, greylists, greylists),
      four(greylists, greylists, {}),
    ],
    'four addresses and a fifth': [four('nobody', 'nobody', 'nobody', 'nobody', {})],
    'ours, preferred alike': [one({}), one('ours')],
    'ours behind': [one({ greeting: '421 busy' }), { preference: 20, at: ['ours'] }],
  }
  for (const [title, hosts] of Object.entries(groups)) facts.push([title, await carry(hosts)])
  facts.push(['again and again one that is not there', await carry([one('nobody')], { times: 5 })])
  facts.push(['again and again one that closes', await carry([kinds['closes at once']!], { times: 5 })])
  facts.push(['again and again one that takes no mail', await carry([kinds['takes no mail']!], { times: 5 })])
  const second = { preference: 20, at: [{ greeting: '450 busy' }] } as const
  facts.push([
    'again and again one that is not there, then a busy one',
    await carry([one('nobody'), second], { times: 5 }),
  ])
  facts.push(['not its turn', await carry([one({})], { hasTurn: false })])
  facts.push(['no way there', await carry([one({})], { options: { sourceAddress: { ipv4: '192.0.2.77' } } })])
  const domains: Readonly<Record<string, object>> = {
    'an address literal': { domain: '[127.0.0.2]', rcptTo: 'b@[127.0.0.2]' },
    'one that is not allowed': { domain: '[192.0.2.1]', rcptTo: 'b@[192.0.2.1]' },
    'a control in the address': { rcptTo: 'b\x7f@there.example' },
    'a bracket in it': { rcptTo: '"b>"@there.example' },
    'a bracket in the reverse-path': { mailFrom: '"<"@here.example' },
    'no such domain': { domain: 'nowhere.example', rcptTo: 'b@nowhere.example' },
    'a report of TLS': { isTlsReport: true },
  }
  for (const [title, more] of Object.entries(domains)) facts.push([title, await carry([one({})], { more })])
  facts.push(['ours by name', await carry([one({})], { options: { ownNames: ['mx0.there.example'] } })])
  sameFacts(t, 'smtp-hosts', facts)
})

const mail = { mailFrom: 'a@ours.example', rcptTo: 'b@there.example' }
const stages: readonly Stage[] = ['connect', 'mail', 'rcpt', 'data', 'message']
const texts = [
  'busy',
  'try again later',
  'too many connections',
  'too many connections from your address',
  'too many errors',
  'too many unknown recipients',
  'Too many invalid addresses in this session',
  'your server is sending too fast',
  'connecting host wants too much',
  'from 192.0.2.7 too much',
  'about [192.0.2.7] too much',
  'about 192.0.2.7.1 too much',
  'about 2001:db8:1:2::7 too much',
  'from [2001:db8:1:2::7] too much',
  '<connections@there.example>: sessions "connections"',
  'the mail says "your ip" from 192.0.2.1',
  'session-of@there.example greylisted',
  'mailbox full',
  'no such user b@there.example',
  'no such user',
  'sender a@ours.example rejected',
  'spam',
  'relaying denied',
  'service unavailable',
]

t.test('what a reply shows', t => {
  const facts: Facts[] = []
  for (const code of [
    '421',
    '450 4.7.1',
    '451 4.3.0',
    '452 4.2.2',
    '521',
    '550 5.1.1',
    '550 5.7.1',
    '552',
    '554 5.3.4',
    '250',
    '354',
  ])
    for (const text of texts)
      facts.push([
        `${code} ${text}`,
        stages.map(stage => {
          const answer = { stage, lines: `${code} ${text}`, text: '', isLost: false, sent: 'none' } as const
          const { outcome, isFinal, isDeferral } = endingOf(answer, rules, mail)
          const { result, replyClass, showing } = outcome
          return `${stage}: ${result}, ${replyClass}, ${showing}${isFinal ? ', the end' : ''}${isDeferral ? ', deferral' : ''}`
        }),
      ])
  sameFacts(t, 'smtp-judged', facts)
  t.end()
})

t.test('of two hosts', t => {
  const answer = { stage: 'connect', text: 'x', isLost: true, sent: 'none' } as const
  const said = (stage: Stage, lines: string) =>
    endingOf({ ...answer, stage, lines, isLost: false }, rules, mail)
  const endings: Readonly<Record<string, Ending>> = {
    delivered: said('message', '250 ok'),
    refused: said('rcpt', '550 5.1.1 no such user'),
    'put off': said('rcpt', '450 4.2.0 later'),
    slowed: said('connect', '421 busy'),
    'no mail': said('connect', '521 no'),
    'no connection': endingOf(answer, rules, mail),
    'no way': endingOf({ ...answer, hasNoWay: true }, rules, mail),
    lost: endingOf({ ...answer, stage: 'mail' }, rules, mail),
    'lost at the end': endingOf({ ...answer, stage: 'message', sent: 'all' }, rules, mail),
    'no reply': endingOf({ ...answer, isLost: false, stage: 'rcpt' }, rules, mail),
    'no reply at first': endingOf({ ...answer, isLost: false }, rules, mail),
    'passed over': passedOver('192.0.2.1', 5),
  }
  const facts: Facts[] = []
  for (const [first, before] of Object.entries(endings)) {
    facts.push([first, before])
    for (const [second, after] of Object.entries(endings)) {
      const { outcome, isLost } = moreTelling(before, after)
      const which =
        outcome.text === before.outcome.text && outcome.code === before.outcome.code ? first : second
      facts.push([
        `${first}, ${second}`,
        `${which}, ${outcome.result}, shows ${outcome.showing}${isLost ? ', lost' : ''}`,
      ])
    }
  }
  const replies = ['250 a\r\n', '354 b\r\n', '550-c\r\n550 d\r\n', 'what\r\n', '25', '\r\n', '451 e\n']
  const heard = replies.flatMap(one => replies.flatMap(two => replies.map(three => one + two + three)))
  for (const some of [...Map.groupBy(heard, text => text.slice(0, 7)).values()])
    facts.push([
      `heard ${JSON.stringify(some[0])} and the like`,
      some.map(text => `${JSON.stringify(text)}: ${JSON.stringify(findDecision(text) ?? 'nothing')}`),
    ])
  const all = '250 a\r\n250 b\r\n354 c\r\n'
  for (const last of replies)
    facts.push([`heard ${JSON.stringify(all + last)}`, findDecision(all + last) ?? 'nothing'])
  for (const lines of [
    '250 2.1.5 ok',
    '550-5.1.1 no\r\n550 5.1.1 user',
    '550-no\n550-4.1.1 a\n550 5.7.26 b',
    '451 4.7.1',
    '599\r\n599-x\r\n599 5.1000.1 y',
    '200 2.0.0\ttab',
  ])
    facts.push([
      `read ${JSON.stringify(lines)}`,
      byLength(Buffer.from(lines), some => readReply(some.toString()) ?? 'nothing'),
    ])
  sameFacts(t, 'smtp-of-two', facts)
  t.end()
})

t.test('what is remembered', async t => {
  let nowMs = 0
  const clock: Clock = { now: () => new Date(nowMs), monotonicMs: () => nowMs }
  const standing = new AddressStanding(clock)
  const said: string[] = []
  const shown = (showing: 'answers' | 'fails' | undefined, code?: number): Ending => ({
    isFinal: false,
    outcome: { result: 'transient', text: '', ...(showing && { showing }), ...(code && { code }) },
  })
  const cut = new AbortController()
  cut.abort()
  const whole = new AbortController().signal
  const steps = [
    ...[
      'fails',
      'fails',
      'mute',
      'fails',
      'fails',
      'fails',
      'cut',
      'fails',
      'fails',
      'fails',
      'throws',
      'fails',
    ],
    ...['fails', 'fails', 'fails', 'takes no mail', 'fails', 'answers', 'fails', 'fails', 'answers', 'fails'],
  ]
  for (const step of steps) {
    const may = standing.mayTry('a')
    const then = standing.mayTry('a')
    const ending = shown(
      step === 'answers' ? 'answers' : step === 'mute' ? undefined : 'fails',
      step === 'takes no mail' ? 521 : undefined,
    )
    const attempt = async () => {
      if (step === 'throws') throw new Error('fault')
      return ending
    }
    await standing.watch('a', step === 'cut' ? cut.signal : whole, attempt).catch(() => {})
    said.push(`${JSON.stringify([may, then])}, ${step}: ${JSON.stringify(standing.mayTry('a'))}`)
    nowMs += [1_000, 29_000, 30_000, 59_999, 1, 600_000, 1_800_000][said.length % 7]!
  }
  const facts: Facts[] = [['an address', said]]
  const memory = new TlsMemory(clock)
  const fault = { type: 'validation-failure', text: 'x' } as const
  const tls: string[] = []
  const look = (what: string) =>
    tls.push(
      `${what}: ${JSON.stringify([memory.brokenBy('h', 'a'), memory.brokenBy('i', 'a'), memory.session('k')?.length, memory.session('l')?.length])}`,
    )
  look('nothing')
  memory.noteBroken('h', 'a', fault)
  memory.keep('k', Buffer.alloc(tlsSessionBytes))
  memory.keep('l', Buffer.alloc(tlsSessionBytes + 1))
  look('noted')
  nowMs += tlsBrokenMs - 1
  look('a moment before its end')
  nowMs++
  look('at its end')
  memory.keep('k', Buffer.alloc(1))
  for (let n = 0; n < tlsSessions - 1; n++) memory.keep(`other ${n}`, Buffer.alloc(2))
  look('as many as are kept')
  memory.keep('l', Buffer.alloc(3))
  look('one more')
  facts.push(['TLS', tls])
  sameFacts(t, 'smtp-remembered', facts)
})

t.test('what a stranger sees of a door', async t => {
  const port = await freePort(addresses[0]!, nobody)
  let script: Script = {}
  const peer = await startPeer(addresses[0]!, port, () => script)
  t.teardown(() => peer.close())
  const door = { host: 'mx.there.example', address: addresses[0]!, port, kind: 'smtp' } as const
  const scripts: Readonly<Record<string, Script>> = {
    'a whole one': {},
    'several lines': { greeting: '220-a\r\n220 b' },
    'a refusal': { greeting: '554 5.7.1 no' },
    'no code': { greeting: 'hello\r\n220 late' },
    'no end': { greeting: { bytes: `220-${'x\r\n220-'.repeat(5_000)}` } },
    closes: { greeting: { next: 'close' } },
    'closes at EHLO': { EHLO: { next: 'close' } },
    'STARTTLS refused': { EHLO: '250-x\r\n250 STARTTLS', STARTTLS: '454 4.7.0 not now' },
    'closes at STARTTLS': { EHLO: '250-x\r\n250 starttls', STARTTLS: { next: 'close' } },
    'closes in the handshake': {
      EHLO: '250-x\r\n250 STARTTLS',
      STARTTLS: '220 go',
      handshake: { next: 'close' },
    },
    'STARTTLS in the first line': { EHLO: '250 STARTTLS' },
  }
  const facts: Facts[] = []
  for (const [title, how] of Object.entries(scripts)) {
    script = how
    facts.push([title, await probeDoor(door, 'here.example', 60_000)])
  }
  facts.push(['it can be connected to', await canConnect(addresses[0]!, port, 60_000)])
  facts.push(['nobody', await canConnect(nobody, port, 60_000)])
  const { fault, ...rest } = await probeDoor({ ...door, address: nobody }, 'here.example', 60_000)
  facts.push(['nobody is there', { ...rest, code: fault?.code }])
  sameFacts(t, 'smtp-probed', facts)
})
