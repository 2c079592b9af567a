import { readFileSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { Readable } from 'node:stream'
import { setInterval } from 'node:timers/promises'
import t from 'tap'
import { systemClock } from '../../../lib/base/time.ts'
import { createAddressGuard } from '../../../lib/courier/address-guard.ts'
import type { Progress } from '../../../lib/courier/smtp/courier.ts'
import { resolverAgainMs } from '../../../lib/courier/smtp/ending.ts'
import { until } from '../../support/until.ts'
import { delivery, loopback, outcomeOf, raw } from '../loopback.ts'
import { type Script, type Step, startPeer } from './scripted-peer.ts'

/** An attempt that may go anywhere. */
const progressOf = (more: Partial<Progress> = {}): Progress => ({
  isFirst: false,
  isWaitedFor: () => false,
  commit() {},
  mayGoTo: async () => true,
  ...more,
})

const received = 'From: a@here.example\r\nSubject: x\r\n\r\nline\r\n..dot\r\n'

t.test('delivers', async t => {
  const { courier, peers } = await loopback(t, [{}])
  const outcome = await outcomeOf(courier, delivery(), raw)
  t.match(outcome, { result: 'delivered', code: 250, enhanced: '2.0.0', text: 'taken', address: '127.0.0.2' })
  t.equal(outcome.host, 'mx1.there.example')
  t.equal(outcome.tls, undefined)
  t.type(outcome.durationMs, 'number')
  t.same(peers[0]?.messages, [received])
  t.same(peers[0]?.commands, [
    'EHLO here.example',
    `MAIL FROM:<a@here.example> SIZE=${raw.length}`,
    'RCPT TO:<b@there.example>',
    'DATA',
  ])
})

t.test('the null reverse-path, and a stream', async t => {
  const { courier, peers } = await loopback(t, [{}])
  const big = Buffer.alloc(9 * 300_000, 'line\r\n.\r\n')
  const outcome = await courier.carry(delivery({ mailFrom: '', sizeBytes: big.length }), () =>
    Readable.from([big]),
  )
  t.equal(outcome.result, 'delivered')
  t.match(peers[0]?.commands[1], 'MAIL FROM:<> ')
  t.ok(peers[0]?.messages[0] === big.toString('latin1').replaceAll('\n.\r', '\n..\r'))
})

t.test('a message that can not be read is our fault: throws, and the peer gets no end of it', async t => {
  const { courier, peers } = await loopback(t, [{}])
  const broken = () =>
    Readable.from(
      (function* () {
        yield raw
        throw new Error('disk gone')
      })(),
    )
  await t.rejects(courier.carry(delivery(), broken), /disk gone/)
  t.same(peers[0]?.messages, [])
})

t.test('who may have lost the lease by the final dot does not say it', async t => {
  const { courier, peers } = await loopback(t, [{}])
  const progress = progressOf({
    commit() {
      throw new Error('another has it')
    },
  })
  await t.rejects(courier.carry(delivery(), raw, progress), /another has it/)
  t.same(peers[0]?.messages, [])
})

/** Whether something has come to a server of this machine that it has not read yet, by what the system knows. */
function hasUnread(port: number): boolean {
  const ours = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  const lines = readFileSync('/proc/net/tcp', 'latin1').split('\n')
  return lines.some(line => {
    const [, local = '', , , queues = ''] = line.trim().split(/\s+/)
    return local.endsWith(ours) && !queues.endsWith(':00000000')
  })
}

t.test('nothing lies between the look at the lease and the leaving of the final dot', async t => {
  const { courier, peers, port } = await loopback(t, [{}])
  let hasLeft = false
  const progress = progressOf({
    commit() {
      // The first that this process does after it: nobody reads meanwhile.
      process.nextTick(() => {
        const endMs = Date.now() + 2_000
        while (!hasLeft && Date.now() < endMs) hasLeft = hasUnread(port)
      })
    },
  })
  t.match(await courier.carry(delivery(), raw, progress), { result: 'delivered' })
  t.ok(hasLeft)
  const long = Buffer.from(`From: a@here.example\r\n\r\n${'.\r\n'.repeat(5_000)}`)
  t.match(await courier.carry(delivery({ sizeBytes: long.length }), long), { result: 'delivered' })
  t.equal(peers[0]?.messages[1], long.toString('latin1').replaceAll('\n.', '\n..'), 'dots fill the buffer')
})

t.test('falls back to HELO, then asks for no extension', async t => {
  const { courier, peers } = await loopback(t, [{ EHLO: '502 what', HELO: '250 peer' }])
  t.match(await courier.carry(delivery(), raw), { result: 'delivered' })
  t.match(peers[0]?.commands, [
    'EHLO here.example',
    'HELO here.example',
    /^MAIL FROM:<a@here.example>$/,
    /^RCPT TO:<[^>]*>$/,
    'DATA',
  ])
})

// Stage by stage: what the first host does, and how a single such host ends.
const misbehaviours: readonly (readonly [string, Script, object])[] = [
  ['silent greeting', { greeting: { next: 'silence' } }, { enhanced: '4.4.1' }],
  ['closes at once', { greeting: { next: 'close' } }, { enhanced: '4.4.1' }],
  ['resets at once', { greeting: { next: 'reset' } }, { enhanced: '4.4.1' }],
  ['garbage greeting', { greeting: 'SSH-2.0-OpenSSH' }, { enhanced: '4.5.0' }],
  ['over-long greeting', { greeting: `220 ${'x'.repeat(100_000)}` }, { replyClass: 'host' }],
  ['endless greeting', { greeting: `220-${'x\r\n220-'.repeat(50_000)}x` }, { enhanced: '4.4.1' }],
  ['554 greeting', { greeting: '554 5.7.1 not you' }, { code: 554, enhanced: '5.7.1', text: 'not you' }],
  ['421 greeting', { greeting: '421 4.3.2 busy' }, { code: 421 }],
  ['421 to EHLO', { EHLO: '421 4.3.2 busy' }, { code: 421 }],
  ['550 to EHLO and HELO', { EHLO: '550 no', HELO: '550 no' }, { code: 550 }],
  ['closes at EHLO', { EHLO: { next: 'close' } }, { enhanced: '4.4.1' }],
  ['421 to MAIL', { MAIL: { say: '421 4.7.0 slow down', next: 'close' } }, { code: 421, enhanced: '4.7.0' }],
  ['451 to MAIL', { MAIL: '451 later' }, { code: 451 }],
  ['550 5.7.1 to MAIL', { MAIL: '550 5.7.1 policy' }, { code: 550, enhanced: '5.7.1' }],
  ['silent at EHLO', { EHLO: { next: 'silence' } }, { enhanced: '4.4.1' }],
  ['silent at RCPT', { RCPT: { next: 'silence' } }, { enhanced: '4.4.2' }],
  ['silent at MAIL', { MAIL: { next: 'silence' } }, { enhanced: '4.4.2' }],
  ['closes at MAIL', { MAIL: { next: 'close' } }, { enhanced: '4.4.2' }],
  ['garbage to MAIL', { MAIL: 'what?' }, { enhanced: '4.5.0' }],
  ['421 to RCPT', { RCPT: { say: '421 4.7.0 slow down', next: 'close' } }, { code: 421 }],
  ['450 to RCPT', { RCPT: '450 4.2.0 greylisted' }, { code: 450, enhanced: '4.2.0', replyClass: 'greylist' }],
  ['552 to RCPT', { RCPT: '552 too many' }, { code: 552 }],
  ['499 to RCPT', { RCPT: '499 odd' }, { code: 499 }],
  ['550 greylisted', { RCPT: '550 5.7.1 Greylisted, wait' }, { code: 550, replyClass: 'greylist' }],
  ['closes at RCPT', { RCPT: { next: 'close' } }, { enhanced: '4.4.2' }],
  ['resets at RCPT', { RCPT: { next: 'reset' } }, { enhanced: '4.4.2' }],
  ['garbage to RCPT', { RCPT: 'hello' }, { enhanced: '4.5.0' }],
  ['half a reply to RCPT', { RCPT: { say: '550-no', next: 'close' } }, { enhanced: '4.4.2' }],
  ['codes that differ', { RCPT: '550-no\r\n250 yes' }, { enhanced: '4.5.0' }],
  [
    'over-long reply to RCPT',
    { RCPT: `550-${'x\r\n550-'.repeat(50_000)}x` },
    { enhanced: '4.4.2', replyClass: 'host' },
  ],
  ['451 to DATA', { DATA: '451 4.3.0 later' }, { code: 451 }],
  ['250 to DATA', { DATA: '250 2.0.0 ok' }, { code: 250, stage: 'data' }],
  ['350 to DATA', { DATA: '350 go on' }, { code: 350, stage: 'data' }],
  ['250 to DATA and closed', { DATA: { say: '250 ok', next: 'close' } }, { code: 250, stage: 'data' }],
  ['421 to DATA', { DATA: { say: '421 4.3.0 later', next: 'close' } }, { code: 421 }],
  ['silent at DATA', { DATA: { next: 'silence' } }, { enhanced: '4.4.2' }],
  ['closes at DATA', { DATA: { next: 'close' } }, { enhanced: '4.4.2' }],
  [
    '521 greeting that is a policy',
    { greeting: '521 5.7.1 Service unavailable; listed by zen.spamhaus.org' },
    { code: 521 },
  ],
  ['450 to the message', { message: '450 4.2.0 later' }, { code: 450 }],
  ['421 to the message', { message: { say: '421 4.3.2 later', next: 'close' } }, { code: 421 }],
]

t.test('what is not proof is transient, and the next host is tried', async t => {
  for (const [name, script, expected] of misbehaviours) {
    await t.test(name, async t => {
      // Only who says nothing is waited for, so only there is the time short.
      const timeouts = name.startsWith('silent') ? { greetingMs: 150, commandMs: 150 } : {}
      const { courier, peers, dns } = await loopback(t, [script, {}], { timeouts })
      const delivered = await courier.carry(delivery(), raw)
      t.match(delivered, { result: 'delivered', address: '127.0.0.3' }, JSON.stringify(delivered))
      t.equal(peers[1]?.messages.length, 1)
      dns.set('there.example', 'MX', [{ priority: 10, exchange: 'mx1.there.example' }])
      t.match(await courier.carry(delivery(), raw), {
        ...expected,
        result: 'transient',
        host: 'mx1.there.example',
      })
    })
  }
})

const proofs: readonly (readonly [string, Script, object])[] = [
  [
    '550 to RCPT',
    { RCPT: '550 5.1.1 no such user' },
    { code: 550, enhanced: '5.1.1', replyClass: 'recipient' },
  ],
  ['599 to RCPT', { RCPT: '599-odd\r\n599 indeed' }, { code: 599, text: 'odd indeed' }],
  ['553 to MAIL', { MAIL: '553 5.1.8 no such sender' }, { code: 553 }],
  ['554 to DATA', { DATA: '554 5.5.1 no' }, { code: 554 }],
  ['550 to the message', { message: '550 5.7.1 spam' }, { code: 550, enhanced: '5.7.1', text: 'spam' }],
  ['552 before the end', { duringMessage: { say: '552 5.3.4 stop', next: 'close' } }, { code: 552 }],
  ['550 to RCPT, and DATA taken all the same', { RCPT: '550 no', DATA: '354 go' }, { code: 550, text: 'no' }],
  ['553 to MAIL, and DATA taken all the same', { MAIL: '553 no', DATA: '354 go' }, { code: 553, text: 'no' }],
  ['550 to RCPT and closed', { RCPT: { say: '550 5.1.1 no', next: 'close' } }, { code: 550, text: 'no' }],
  ['553 to MAIL and closed', { MAIL: { say: '553 no', next: 'close' } }, { code: 553, text: 'no' }],
  [
    '550 to RCPT and closed, one by one',
    { EHLO: '250 x', RCPT: { say: '550 no', next: 'close' } },
    { code: 550 },
  ],
  ['550 to the message and closed', { message: { say: '550 no', next: 'close' } }, { code: 550, text: 'no' }],
  ['550 right behind 354', { DATA: { say: '354 go\r\n550 no', next: 'close' } }, { code: 550, text: 'no' }],
]

t.test('proof ends the attempt at the first host', async t => {
  for (const [name, script, expected] of proofs) {
    await t.test(name, async t => {
      const { courier, peers } = await loopback(t, [script, {}])
      t.match(await courier.carry(delivery(), raw), {
        ...expected,
        result: 'permanent',
        address: '127.0.0.2',
      })
      t.equal(peers[1]?.connections, 0)
    })
  }
})

t.test('without PIPELINING the same', async t => {
  const EHLO = '250 peer'
  const cases: readonly (readonly [Script, object])[] = [
    [{}, { result: 'delivered' }],
    [{ message: '299 fine' }, { result: 'delivered', code: 299 }],
    [{ MAIL: '450 no' }, { result: 'transient', code: 450 }],
    [{ RCPT: '550 no' }, { result: 'permanent', code: 550 }],
    [{ RCPT: { next: 'close' } }, { result: 'transient' }],
    [{ DATA: '554 no' }, { result: 'permanent', code: 554 }],
  ]
  for (const [script, expected] of cases) {
    const { courier } = await loopback(t, [{ EHLO, ...script }])
    t.match(await courier.carry(delivery(), raw), expected)
  }
})

t.test('lost after the final dot: later, and no other host now', async t => {
  for (const message of [
    { next: 'close' },
    { next: 'reset' },
    { next: 'silence' },
    'garbage',
  ] satisfies Step[]) {
    const { courier, peers } = await loopback(t, [{ message }, {}], { timeouts: { finalReplyMs: 200 } })
    const outcome = await courier.carry(delivery(), raw)
    t.match(outcome, { result: 'transient', address: '127.0.0.2' }, JSON.stringify(outcome))
    t.equal(peers[1]?.connections, 0)
  }
})

t.test('a 250 before the end of the message is no delivery', async t => {
  const { courier } = await loopback(t, [{ duringMessage: { say: '250 thanks', next: 'silence' } }])
  const endless = () =>
    Readable.from(
      (async function* () {
        for (;;) yield raw
      })(),
    )
  t.match(await courier.carry(delivery(), endless), { result: 'transient', text: /was not asked/ })
})

t.test('a peer that takes bytes without end is cut off by the total time', async t => {
  const { courier, peers } = await loopback(t, [{ duringMessage: { next: 'silence' } }, {}], {
    timeouts: { totalMs: 400 },
  })
  const drip = () => Readable.from(setInterval(20, raw))
  const outcome = await outcomeOf(courier, delivery(), drip)
  t.match(outcome, { result: 'transient', text: /400 ms/ })
  // A slow machine makes it longer; nothing makes it shorter but the rounding of a timer.
  t.ok(outcome.durationMs >= 390, `${outcome.durationMs} ms`)
  t.equal(peers[1]?.connections, 0)
})

t.test('nobody there, and only some there', async t => {
  const { courier, port, dns } = await loopback(t, [undefined, {}])
  t.match(await courier.carry(delivery(), raw), { result: 'delivered', address: '127.0.0.3' })
  dns.set('there.example', 'MX', [{ priority: 1, exchange: 'mx1.there.example' }])
  t.match(await courier.carry(delivery(), raw), {
    result: 'transient',
    enhanced: '4.4.1',
    text: `connect ECONNREFUSED 127.0.0.2:${port}`,
    host: 'mx1.there.example',
  })
})

t.test('several addresses of one host', async t => {
  const { courier, dns } = await loopback(t, [undefined, { RCPT: '450 4.2.1 not now' }, {}])
  dns.set('there.example', 'MX', [{ priority: 1, exchange: 'mx1.there.example' }])
  dns.set('mx1.there.example', 'A', ['127.0.0.2', '127.0.0.3', '127.0.0.4'])
  t.match(await courier.carry(delivery(), raw), { result: 'delivered', address: '127.0.0.4' })
})

t.test('all hosts refuse us: transient, with the first word said', async t => {
  const { courier, peers } = await loopback(t, [
    undefined,
    { greeting: '554 5.7.1 not you' },
    { EHLO: { next: 'close' } },
  ])
  t.match(await courier.carry(delivery(), raw), { result: 'transient', code: 554, address: '127.0.0.3' })
  t.equal(peers[1]?.connections, 1)
})

t.test('DNS decides before any connection', async t => {
  const { courier, dns, peers } = await loopback(t, [{}])
  dns.set('null.example', 'MX', [{ priority: 0, exchange: '' }])
  dns.fail('down.example', 'SERVFAIL')
  dns.set('nowhere.example', 'MX', [
    { priority: 1, exchange: 'gone.example' },
    { priority: 2, exchange: 'gone-too.example' },
  ])
  dns.set('half.example', 'MX', [
    { priority: 1, exchange: 'gone.example' },
    { priority: 2, exchange: 'down.example' },
  ])
  const at = (domain: string) => courier.carry(delivery({ domain }), raw)
  t.match(await at('null.example'), { result: 'permanent', enhanced: '5.1.10' })
  t.match(await at('no.example'), { result: 'permanent', enhanced: '5.1.2' })
  t.match(await at('127.0.0.2'), { result: 'permanent', enhanced: '5.1.2' })
  t.match(await at('down.example'), { result: 'transient', enhanced: '4.4.3' })
  t.match(await at('nowhere.example'), { result: 'permanent', enhanced: '5.4.4' })
  t.match(await at('half.example'), { result: 'transient', enhanced: '4.4.3' })
  t.equal(peers[0]?.connections, 0)
})

t.test('addresses that would break out of their path are never sent', async t => {
  const { courier, peers } = await loopback(t, [{}])
  for (const rcptTo of [
    'b@there.example>\r\nRCPT TO:<c@there.example',
    '"<"@there.example',
    'b\0@there.example',
  ])
    t.match(await courier.carry(delivery({ rcptTo }), raw), { result: 'permanent', enhanced: '5.1.3' })
  t.match(await courier.carry(delivery({ mailFrom: 'a\n@x' }), raw), {
    result: 'permanent',
    enhanced: '5.1.7',
  })
  t.equal(peers[0]?.connections, 0)
})

t.test('internationalised addresses (RFC 6531)', async t => {
  const { courier, dns, peers } = await loopback(t, [{}, { EHLO: '250-x\r\n250 SIZE' }])
  const idn = { rcptTo: 'b@bücher.example', domain: 'bücher.example' }
  dns.set('xn--bcher-kva.example', 'MX', [{ priority: 1, exchange: 'mx2.there.example' }])
  t.match(await courier.carry(delivery(idn), raw), { result: 'delivered' }, 'only the domain: A-labels')
  t.match(peers[1]?.commands[2], 'RCPT TO:<b@xn--bcher-kva.example>')
  const local = { ...idn, rcptTo: 'jürgen@bücher.example' }
  t.match(await courier.carry(delivery(local), raw), { result: 'permanent', enhanced: '5.6.7' })
  dns.set('xn--bcher-kva.example', 'MX', [{ priority: 1, exchange: 'mx1.there.example' }])
  t.match(await courier.carry(delivery(local), raw), { result: 'delivered' })
  t.match(peers[0]?.commands[1], /^MAIL FROM:<a@here.example> SMTPUTF8 /)
  t.equal(
    Buffer.from(peers[0]?.commands[2] ?? '', 'latin1').toString(),
    'RCPT TO:<jürgen@xn--bcher-kva.example>',
  )
})

t.test('8-bit content (RFC 6152)', async t => {
  const { courier, peers, dns } = await loopback(t, [{}, { EHLO: '250 x' }])
  t.match(await courier.carry(delivery({ is8Bit: true }), raw), { result: 'delivered' })
  t.match(peers[0]?.commands[1], ' BODY=8BITMIME')
  dns.set('there.example', 'MX', [{ priority: 1, exchange: 'mx2.there.example' }])
  t.match(await courier.carry(delivery({ is8Bit: true }), raw), { result: 'permanent', enhanced: '5.6.3' })
  t.match(await courier.carry(delivery(), raw), { result: 'delivered' })
})

t.test('close cuts off what runs, and takes nothing more', async t => {
  const { courier, peers } = await loopback(t, [{ message: { next: 'silence' } }], {
    timeouts: { finalReplyMs: 60_000, totalMs: 60_000 },
  })
  const running = courier.carry(delivery(), raw)
  while (peers[0]?.messages.length !== 1) await new Promise(setImmediate)
  await courier.close()
  t.strictSame(await running, { result: 'cut-off' })
  t.strictSame(await courier.carry(delivery(), raw), { result: 'cut-off' })
})

const hasIpv6 = Object.values(networkInterfaces()).some(list =>
  list?.some(({ address }) => address === '::1'),
)

t.test('source addresses; IPv6 on demand', { skip: !hasIpv6 && 'no IPv6 on the loopback' }, async t => {
  const sourceAddress = { ipv4: '127.0.0.77', ipv6: '::1' }
  const { courier, peers, dns, port } = await loopback(t, [{ RCPT: '450 no' }], {
    sourceAddress,
    useIpv6: true,
  })
  const six = await startPeer('::1', port)
  t.teardown(() => six.close())
  dns.set('mx1.there.example', 'AAAA', ['::1'])
  t.match(await courier.carry(delivery(), raw), { result: 'delivered', address: '::1' }, 'after IPv4')
  t.equal(peers[0]?.lastFrom, '127.0.0.77')
  t.equal(six.lastFrom, '::1')
})

t.test('IPv6 stays on, whatever a server says', { skip: !hasIpv6 && 'no IPv6 on the loopback' }, async t => {
  const { courier, dns, port } = await loopback(t, [undefined, {}], { useIpv6: true })
  dns.set('mx1.there.example', 'A', [])
  dns.set('mx1.there.example', 'AAAA', ['::1'])
  let step: Step = '451 4.3.0 sorry, connect ENETUNREACH ::1'
  const six = await startPeer('::1', port, { MAIL: () => step })
  t.teardown(() => six.close())
  t.match(await courier.carry(delivery(), raw), { result: 'delivered', address: '127.0.0.3' })
  step = '250 2.1.0 ok'
  t.match(await courier.carry(delivery(), raw), { result: 'delivered', address: '::1' })
})

t.test('an MX record that leads to this machine or a private network is not followed', async t => {
  const ownPorts: number[] = []
  const guarding = (allowNetworks: string[]) =>
    createAddressGuard({
      clock: systemClock,
      allowNetworks,
      ownAddresses: () => [],
      ownPorts: () => ownPorts,
    })
  const { courier, peers, dns } = await loopback(t, [{}, {}], { guard: guarding(['127.0.0.3/32']) })
  t.match(await courier.carry(delivery(), raw), { result: 'delivered', address: '127.0.0.3' })
  t.equal(peers[0]?.connections, 0)
  for (const address of ['127.0.0.1', '10.0.0.1', '169.254.169.254', '0.0.0.0', '100.64.0.1']) {
    dns.set('there.example', 'MX', [{ priority: 10, exchange: 'mx1.there.example' }])
    dns.set('mx1.there.example', 'A', [address])
    const outcome = await outcomeOf(courier, delivery(), raw)
    t.match(outcome, { result: 'permanent', enhanced: '5.4.4', host: 'mx1.there.example' }, address)
    t.match(outcome.text, /points at/)
    t.notMatch(outcome.text, address, 'whoever set it learns no address')
  }
})

t.test('mail for a domain whose servers have our name is not sent to ourselves', async t => {
  const { courier, peers, dns } = await loopback(t, [{}], { ownNames: ['mx1.there.example'] })
  t.match(await courier.carry(delivery(), raw), { result: 'permanent', enhanced: '5.4.6' })
  dns.set('there.example', 'MX', [{ priority: 10, exchange: 'HERE.example.' }])
  t.match(await courier.carry(delivery(), raw), { result: 'permanent', enhanced: '5.4.6' })
  t.equal(peers[0]?.connections, 0)
})

t.test('an address that does not answer is left alone, whatever leads to it, but for a probe', async t => {
  let nowMs = 0
  const clock = { now: () => new Date(), monotonicMs: () => nowMs }
  const { courier, peers, dns } = await loopback(t, [{ greeting: { next: 'close' } }], { clock })
  for (let n = 0; n < 6; n++) {
    dns.set(`many${n}.example`, 'MX', [{ priority: 1, exchange: `mx.many${n}.example` }])
    dns.set(`mx.many${n}.example`, 'A', ['127.0.0.2'])
    const outcome = await outcomeOf(courier, delivery({ domain: `many${n}.example` }), raw)
    t.equal(outcome.result, 'transient')
    t.equal(outcome.showing, n < 3 ? 'fails' : undefined, 'what is not tried shows nothing')
    t.equal(outcome.triedAgainInMs, n < 3 ? undefined : 30_000)
    t.equal(/not tried/.test(outcome.text), n >= 3)
  }
  t.equal(peers[0]?.connections, 3)
  nowMs += 30_000
  await courier.carry(delivery(), raw)
  t.match(await courier.carry(delivery(), raw), { text: /not tried/ })
  t.equal(peers[0]?.connections, 4)
})

for (const [address, skip] of [
  ['127.0.0.2', false],
  ['::1', !hasIpv6 && 'no IPv6 on the loopback'],
] as const)
  t.test(`who answers at the door answers, whatever it says (${address})`, { skip }, async t => {
    const doors: readonly [Script, string][] = [
      [{ greeting: '421 4.7.0 too many connections' }, 'slows'],
      [{ greeting: { say: '421 4.3.2 busy', next: 'close' } }, 'slows'],
      [{ greeting: '450 4.7.1 not now' }, 'slows'],
      [{ greeting: '554 5.7.1 not you' }, 'fails'],
      [{ EHLO: '421 4.3.2 busy' }, 'slows'],
      [{ EHLO: '550 no', HELO: '550 no' }, 'fails'],
    ]
    for (const [script, showing] of doors) {
      const { courier, dns, port } = await loopback(t, [undefined], { useIpv6: true })
      const peer = await startPeer(address, port, script)
      for (let n = 0; n < 6; n++) {
        dns.set(`many${n}.example`, 'MX', [{ priority: 1, exchange: `mx.many${n}.example` }])
        dns.set(`mx.many${n}.example`, 'A', [])
        dns.set(`mx.many${n}.example`, address === '::1' ? 'AAAA' : 'A', [address])
        const outcome = await courier.carry(delivery({ domain: `many${n}.example` }), raw)
        t.match(outcome, { result: 'transient', showing, address, triedAgainInMs: undefined })
      }
      t.equal(peer.connections, 6, 'each of them was asked')
      await peer.close()
    }
  })

t.test('who hangs up, once it has greeted, does not for that count as one that does not answer', async t => {
  const scripts: Script[] = [
    { MAIL: { next: 'reset' } },
    { RCPT: { next: 'close' } },
    { DATA: 'what?' },
    { duringMessage: { next: 'reset' } },
    { message: { next: 'close' } },
  ]
  for (const script of scripts) {
    // And one beside it that is down, and asked before or after it.
    for (const hosts of [[script], [undefined, script], [script, undefined]]) {
      const { courier, peers } = await loopback(t, hosts)
      for (let n = 0; n < 6; n++) {
        const { result, showing } = await outcomeOf(courier, delivery(), raw)
        t.strictSame({ result, showing }, { result: 'transient', showing: undefined }, JSON.stringify(script))
      }
      t.equal(peers[0]?.connections, 6, 'it was asked each time')
      await courier.close()
    }
  }
})

t.test('a probe of an address that was cut off is no probe', async t => {
  let nowMs = 0
  const clock = { now: () => new Date(), monotonicMs: () => nowMs }
  const script: Script = { greeting: ({ number }) => ({ next: number <= 3 ? 'close' : 'silence' }) }
  const timeouts = { firstGreetingMs: 300, greetingMs: 300 }
  const { courier, peers } = await loopback(t, [script], { clock, timeouts })
  for (let n = 0; n < 3; n++) await courier.carry(delivery(), raw)
  nowMs += 30_000
  const cut = await courier.carry(delivery(), raw, progressOf({ isFirst: true, isWaitedFor: () => true }))
  t.strictSame(cut, { result: 'too-slow' })
  await courier.carry(delivery(), raw)
  t.equal(peers[0]?.connections, 5, 'the next one finds out')
})

t.test(
  'an address gets no more connections at once than it may, and mail waits for it for a moment',
  async t => {
    const { courier, peers, dns } = await loopback(t, [{}, {}], { mostAtAddress: 1 })
    for (const name of ['a', 'b', 'c'])
      dns.set(`${name}.example`, 'MX', [{ priority: 1, exchange: 'mx1.there.example' }])
    const outcomes = await Promise.all(
      ['a', 'b', 'c'].map(name => courier.carry(delivery({ domain: `${name}.example` }), raw)),
    )
    t.strictSame(
      outcomes.map(({ result }) => result),
      ['delivered', 'delivered', 'delivered'],
    )
    t.equal(peers[0]?.most, 1, 'one after the other')
    const mute = await loopback(t, [{ greeting: { next: 'silence' } }, {}], { mostAtAddress: 1 })
    const hanging = mute.courier.carry(delivery(), raw)
    await until('it hangs', () => mute.peers[0]!.connections === 1)
    t.strictSame(await mute.courier.carry(delivery(), raw), { result: 'address-full' })
    t.equal(mute.peers[1]?.connections, 0, 'nobody less preferred is asked')
    await mute.courier.close()
    await hanging
  },
)

t.test('mail counts for a group of servers only when all that are tried are of it', async t => {
  const { courier, dns } = await loopback(t, [undefined])
  const at = (...exchanges: string[]) => exchanges.map((exchange, n) => ({ priority: n, exchange }))
  const many = Array.from({ length: 12 }, (_, n) => ({ priority: 1, exchange: `z${n}.there.example` }))
  const asked: string[][] = []
  const turnOf = async (domain: string) => {
    const progress = progressOf({
      mayGoTo: async (...of: [string, string]) => {
        asked.push(of)
        return false
      },
    })
    t.match(await courier.carry(delivery({ domain }), raw, progress), { result: 'no-slot' })
    t.equal(asked.at(-1)![1], domain)
    return asked.at(-1)![0]
  }
  const of = (records: { priority: number; exchange: string }[]) => {
    dns.set('one.example', 'MX', records)
    return turnOf('one.example')
  }
  const big = 'gmail-smtp-in.l.google.com'
  t.equal(await of(at(big, `alt1.${big}`)), 'google')
  t.equal(await of(at('mx.bigco.example')), 'mx:mx.bigco.example')
  t.match(await of(at(big, 'dead.evil.example')), /^mx:gmail.*\+1:/, 'a group of its own')
  t.equal(await of(at('a.google.com')), 'mx:a.google.com', 'no mail server of theirs that is known')
  t.match(await of(at('a.google.com', 'dead.evil.example')), /^mx:a\.google\.com\+1:/)
  t.match(await of(at('mx.bigco.example', 'dead.evil.example')), /^mx:mx\.bigco\.example\+1:/)
  t.equal(
    await of([{ priority: 1, exchange: 'mx.bigco.example' }, ...many]),
    'one.example',
    'not all are tried',
  )
  dns.fail('one.example', 'SERVFAIL')
  t.equal(await turnOf('one.example'), 'one.example', 'its DNS fails, wherever it led before')
})

t.test('what one host lacks is asked of the next; proof is that all lack it', async t => {
  const lacking: Script = { EHLO: '250-x\r\n250 SIZE 10' }
  const wanted = [
    [{}, '5.3.4'],
    [{ sizeBytes: 5, is8Bit: true }, '5.6.3'],
    [{ sizeBytes: 5, is8Bit: true, isUtf8: true }, '5.6.7'],
    [{ sizeBytes: 5, rcptTo: 'jürgen@there.example' }, '5.6.7'],
  ] as const
  for (const [more, enhanced] of wanted) {
    const { courier, peers } = await loopback(t, [lacking, {}])
    t.match(await courier.carry(delivery(more), raw), { result: 'delivered', address: '127.0.0.3' })
    t.notOk(peers[0]?.commands.some(line => line.startsWith('MAIL')))
    const none = await loopback(t, [lacking, lacking])
    t.match(await none.courier.carry(delivery(more), raw), { result: 'permanent', enhanced })
    const down = await loopback(t, [lacking, { greeting: { next: 'close' } }])
    t.match(await down.courier.carry(delivery(more), raw), { result: 'transient' }, 'the other may have it')
    const before = await loopback(t, [{ greeting: { next: 'close' } }, lacking])
    t.match(await before.courier.carry(delivery(more), raw), { result: 'transient' })
  }
})

t.test('a header in UTF-8 is announced, once', async t => {
  const { courier, peers } = await loopback(t, [{}])
  const utf8 = { is8Bit: true, isUtf8: true }
  t.match(await courier.carry(delivery(utf8), raw), { result: 'delivered' })
  t.match(await courier.carry(delivery(), raw), { result: 'delivered' })
  const mails = peers[0]!.commands.filter(line => line.startsWith('MAIL'))
  t.match(mails[0], / BODY=8BITMIME .*SMTPUTF8$/)
  t.notMatch(mails[1], /SMTPUTF8/)
})

t.test('a host that takes no mail ends itself; when all say so, the mail ends', async t => {
  for (const greeting of ['521 no mail here', '554 no SMTP service here']) {
    const { courier, peers } = await loopback(t, [{ greeting }, {}])
    t.match(await courier.carry(delivery(), raw), { result: 'delivered', address: '127.0.0.3' })
    t.equal(peers[0]?.connections, 1)
    const all = await loopback(t, [{ greeting }, { greeting }])
    t.match(await all.courier.carry(delivery(), raw), {
      result: 'permanent',
      code: Number(greeting.slice(0, 3)),
    })
    for (const scripts of [
      [{ greeting }, { greeting: { next: 'close' } }],
      [{ greeting: { next: 'close' } }, { greeting }],
    ] satisfies Script[][]) {
      const some = await loopback(t, scripts)
      t.match(await some.courier.carry(delivery(), raw), { result: 'transient' })
    }
  }
})

t.test('empty lines are no answer, and as many as a stranger likes are not kept', async t => {
  const few = {
    greeting: '\r\n \r\n\n220 peer.test',
    RCPT: '250 2.1.5 ok\r\n\r\n \r\n',
    message: '\n\n\n250 2.0.0 taken',
  }
  const well = await loopback(t, [few])
  t.match(await well.courier.carry(delivery(), raw), { result: 'delivered', text: 'taken' })
  for (const step of ['greeting', 'EHLO', 'RCPT', 'message'] as const) {
    const flood = { say: '\n'.repeat(5_000_000), next: 'silence' } as const
    const { courier } = await loopback(t, [{ [step]: flood }])
    t.match(
      await courier.carry(delivery(), raw),
      { result: 'transient', text: /exceeds maximum allowed size/, replyClass: 'host' },
      step,
    )
  }
})

t.test(
  'while other mail waits, a first attempt does not wait for a silent server, which is no fault of it',
  async t => {
    const EHLO = '250 peer.test'
    // A line that says that more comes is no answer.
    const RCPT = { say: '250-more\r\n'.repeat(50), next: 'silence' } as const
    const timeouts = { firstGreetingMs: 300, silentMs: 300 }
    const crowded = progressOf({ isFirst: true, isWaitedFor: () => true })
    for (const script of [{ greeting: { next: 'silence' } }, { EHLO, RCPT }] as const) {
      const { courier, peers } = await loopback(t, [script, {}], { timeouts })
      const outcome = await courier.carry(delivery(), raw, crowded)
      t.strictSame(outcome, { result: 'too-slow' })
      t.equal(peers[1]?.connections, 0, 'and no other host is asked')
    }
    const late = await loopback(t, [{ message: { next: 'silence' } }], {
      timeouts: { ...timeouts, finalReplyMs: 900 },
    })
    t.match(
      await late.courier.carry(delivery(), raw, crowded),
      { result: 'transient' },
      'nor if it may have the mail',
    )
    const mute = await loopback(t, [{ greeting: { next: 'silence' } }], {
      timeouts: { ...timeouts, greetingMs: 900 },
    })
    const again = await mute.courier.carry(delivery(), raw, { ...crowded, isFirst: false })
    t.match(
      again,
      { result: 'transient', showing: 'fails', text: /other mail waited/ },
      'at a later attempt it is one',
    )
    const alone = await outcomeOf(mute.courier, delivery(), raw, { ...crowded, isWaitedFor: () => false })
    t.match(alone, { result: 'transient', showing: 'fails' })
    t.notMatch(alone.text, /other mail/, 'while nobody waits it has its time')
  },
)

t.test('the answer to the final dot has a time of its own', async t => {
  const { courier } = await loopback(t, [{ message: { next: 'silence' } }], {
    timeouts: { dataBlockMs: 60_000, commandMs: 60_000, finalReplyMs: 200, totalMs: 3_000 },
  })
  const { result, text } = await outcomeOf(courier, delivery(), raw)
  t.equal(result, 'transient')
  t.notMatch(text, /no end within/)
})

t.test('a resolver that does not answer is no fault of the domain, and a silent zone is', async t => {
  const { courier, dns } = await loopback(t, [{}])
  dns.fail('there.example', 'timeout')
  const ofDomain = await courier.carry(delivery(), raw)
  t.match(ofDomain, {
    result: 'transient',
    enhanced: '4.4.3',
    showing: 'fails',
    text: /MX of there\.example/,
  })
  dns.fail('.', 'timeout')
  const ours = await outcomeOf(courier, delivery(), raw)
  t.match(ours, { result: 'transient', enhanced: '4.4.3', text: /resolver of this server does not answer/ })
  t.equal(ours.showing, undefined)
  t.equal(ours.triedAgainInMs, resolverAgainMs)
  dns.clear('there.example')
  dns.fail('mx1.there.example', 'timeout')
  t.match(await courier.carry(delivery(), raw), { text: /resolver of this server/ }, 'for an address, too')
  dns.clear('mx1.there.example')
  t.match(await courier.carry(delivery(), raw), { result: 'delivered' })
})
