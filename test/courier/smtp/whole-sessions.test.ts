import { readFileSync } from 'node:fs'
import { Readable } from 'node:stream'
import { createSecureContext } from 'node:tls'
import t, { type Test } from 'tap'
import { systemClock } from '../../../lib/base/time.ts'
import { opportunistic } from '../../../lib/courier/encryption/host-tls.ts'
import { type Carrier, createCarrier, type Letter } from '../../../lib/courier/smtp/carrier.ts'
import type { Ending } from '../../../lib/courier/smtp/ending.ts'
import type { Raw, SmtpTimeouts } from '../../../lib/courier/smtp/session.ts'
import { TlsMemory } from '../../../lib/courier/smtp/tls-memory.ts'
import { loadReplyRules } from '../../../lib/mail/report/reply-rules.ts'
import { writeCertificate } from '../../support/certificate.ts'
import { type Facts, sameFacts } from '../../support/kept-facts.ts'
import { freePort } from '../../support/ports.ts'
import { raw } from '../loopback.ts'
import { type Script, type Step, startPeer } from './scripted-peer.ts'
import { plainly, settled } from './settled.ts'

const address = '127.0.0.2'
const host = 'mx.there.example'
const rules = loadReplyRules()
const longMs = 60_000
const timeouts: SmtpTimeouts = {
  connectMs: longMs,
  greetingMs: longMs,
  commandMs: longMs,
  dataBlockMs: longMs,
  finalReplyMs: longMs,
  resetMs: longMs,
  quitMs: longMs,
  totalMs: longMs,
  firstGreetingMs: longMs,
  silentMs: longMs,
}

const { cert, key } = await writeCertificate(t.testdir(), host)
const secureContext = createSecureContext({ cert: readFileSync(cert), key: readFileSync(key) })

const letter: Letter = { mailFrom: 'a@here.example', rcptTo: 'b@there.example', sizeBytes: raw.length }
interface Carried {
  readonly letters?: readonly Letter[]
  readonly raw?: Raw
  readonly timeouts?: Partial<SmtpTimeouts>
  readonly tls?: typeof opportunistic
  readonly ca?: string
  readonly isWhole?: boolean
}

/** A host that does as the script says, and what became of letters that were carried to it, one after the other. */
async function openHost(t: Test) {
  const port = await freePort(address)
  let script: Script = {}
  const peer = await startPeer(address, port, () => script)
  t.teardown(() => peer.close())
  return async (how: Script, carried: Carried = {}): Promise<string[]> => {
    const { letters = [letter], tls = opportunistic } = carried
    const before = peer.commands.length
    const stop = new AbortController()
    const { secureContext: its, ...steps } = how
    const all = Object.entries(steps).map(([name, step]) => [name, stepOf(step, stop, peer.connections)])
    script = { ...Object.fromEntries(all), ...(its && { secureContext: its }) }
    const carrier = createCarrier(
      {
        clock: systemClock,
        memory: new TlsMemory(systemClock, carried.ca),
        hostname: 'here.example',
        port,
        timeouts: { ...timeouts, ...carried.timeouts },
      },
      { rules, idleMs: longMs },
    )
    const said: string[] = []
    for (const one of letters) {
      const ending = await carryOne(carrier, tls, one, carried.raw ?? raw, stop.signal, said)
      said.push(...shownEnding(ending))
      await settled()
    }
    await carrier.close()
    await settled()
    await peer.ended()
    const lines = peer.commands.slice(before)
    if (carried.isWhole) said.push(...lines.map(line => `C ${line}`))
    else said.push(`C ${lines.map(line => line.split(/[ :]/)[0]).join(' ')}`)
    return said
  }
}

async function carryOne(
  carrier: Carrier,
  tls: typeof opportunistic,
  one: Letter,
  message: Raw,
  signal: AbortSignal,
  said: string[],
): Promise<Ending> {
  const seen = { heard: 0, committed: 0 }
  const watch = { signal, heard: () => void seen.heard++, commit: () => void seen.committed++ }
  const noteTls = (_host: string, policy: string, type: string) => void said.push(`TLS: ${policy}, ${type}`)
  const ending = await carrier.carryTo({ host, address, tls, noteTls }, one, message, watch)
  said.push(`${seen.heard} heard${seen.committed > 0 ? `, committed ${seen.committed}` : ''}`)
  return ending
}

function shownEnding({ outcome, isFinal, isDeferral, isStale, isLost }: Ending): string[] {
  const { result, code, enhanced, text, stage, replyClass, tls, showing, ...more } = outcome
  delete more.host
  delete more.address
  const about = [
    code,
    enhanced,
    stage && `at ${stage}`,
    replyClass && `about ${replyClass}`,
    showing && `it ${showing}`,
  ]
  const then = [
    isFinal ? 'the end' : 'another host is next',
    isDeferral && 'deferral',
    isStale && 'stale',
    isLost && 'lost',
    tls && 'encrypted',
    Object.keys(more).length > 0 && JSON.stringify(more),
  ]
  return [
    `${result} ${about.filter(one => one !== undefined).join(' ')}: ${plainly(text)}`,
    then.filter(Boolean).join(', '),
  ]
}

/** Says nothing, and the attempt is given up: by no clock, so however busy the machine is. */
const silence: Step = { next: 'silence' }

/** The step, for a session that is counted from this script on. */
function stepOf(step: Step, stop: AbortController, before: number): Step {
  if (typeof step === 'function')
    return session => stepOf(step({ ...session, number: session.number - before }), stop, before)
  if (step !== silence) return step
  return () => {
    stop.abort(new Error('nothing was said'))
    return { next: 'silence' }
  }
}

const well = [
  '220 ready',
  '250',
  '250 ok',
  '250 5.1.1 of another class',
  '251 2.1.5 will be forwarded',
  '299 fine',
  '250-2.1.5 a\r\n250 2.1.5 b',
  '334 go on',
  '354 go on',
  '399 odd',
]
const later = [
  '421 4.3.2 going down',
  '421 4.7.0 too many connections from [192.0.2.1]',
  '421 too many errors',
  '450 busy',
  '450 4.2.0 greylisted',
  '451 4.3.0 local error',
  '451 4.7.1 try again later',
  '451 4.7.500 server busy, too many connections',
  '452 4.3.1 disk full',
  '452 4.5.3 too many recipients',
  '452 4.2.2 mailbox full',
  '454 4.7.0 TLS not available',
  '499 odd',
  '450-4.2.0 a\r\n450-4.2.0 b\r\n450-c\r\n450 d',
]
const never = [
  '500 5.5.2 what',
  '501 5.5.4 syntax',
  '502 5.5.1 no',
  '503 5.5.1 out of order',
  '521 5.3.2 no mail here',
  '521 5.7.1 not from you',
  '530 5.7.0 must issue STARTTLS first',
  '550 no',
  '550 5.1.1 no such user',
  '550 4.1.1 of another class',
  '550 5.7.1 listed by zen.spamhaus.org',
  '550 5.7.1 relaying denied',
  '550 5.7.26 unauthenticated',
  '551 5.1.6 moved',
  '552 too much',
  '552 5.2.2 mailbox full',
  '552 5.3.4 message too large',
  '552 5.2.3 too long',
  '553 5.1.8 sender rejected',
  '554 no',
  '554 5.7.1 no',
  '556 5.1.10 null MX',
  '599 odd',
  '550-5.1.1 no such\r\n550 5.7.1 user',
  '550-no\r\n550 5.1.1 user',
]
const none = [
  '600 odd',
  '199 odd',
  '25 short',
  '2500 long',
  '250ok',
  '250\tok',
  '550\tno',
  ' 250 ok',
  'hello',
  '550-no\r\n551 yes',
  '550-no\r\n250 yes',
  '250-yes\r\n550 no',
  '550-no\r\nhello\r\n550 end',
  '550 no\r\n',
]
const odd: Readonly<Record<string, Step>> = {
  'long line, 250': `250 ${'x'.repeat(2000)}`,
  'long line, 550': `550 5.1.1 ${'no such user '.repeat(200)}`,
  'many lines, 250': `${'250-a\r\n'.repeat(200)}250 b`,
  'many lines, 450': `${'450-a\r\n'.repeat(200)}450 b`,
  'no end within the bound': { bytes: `550-${'x\r\n550-'.repeat(5000)}x` },
  'one line, no end within the bound': { bytes: `550 ${'x'.repeat(20_000)}` },
  'empty lines, no end within the bound': { bytes: '\r\n'.repeat(10_000) },
  'empty lines before 250': '\r\n\r\n \r\n250 ok',
  'empty lines before 550': '\r\n\r\n \r\n550 no',
  'LF alone': { bytes: '550-no\n550 such\n' },
  UTF8: '550 5.1.1 Empfänger unbekannt 用户不存在',
  Latin1: { bytes: Buffer.from('550 5.1.1 Empf\xe4nger unbekannt\r\n', 'latin1') },
  'bytes of control': { bytes: Buffer.from('550 a\x00b\x1b[31mc\x7f\r\n', 'latin1') },
  binary: { bytes: Buffer.from([0x16, 3, 1, 0, 0xff, 0x80, 0, 13, 10]) },
  '250 and 250': '250 ok\r\n250 more',
  '250 and 421': '250 ok\r\n421 4.3.2 going',
  '250 and a part': { bytes: '250 ok\r\n55' },
  '550 and 250': '550 no\r\n250 ok',
  '550 and 221': '550 no\r\n221 bye',
  closes: { next: 'close' },
  resets: { next: 'reset' },
  'says nothing': silence,
  '250 and closes': { say: '250 ok', next: 'close' },
  '354 and closes': { say: '354 go', next: 'close' },
  '421 and closes': { say: '421 4.3.2 going down', next: 'close' },
  '450 and closes': { say: '450 4.2.0 later', next: 'close' },
  '550 and closes': { say: '550 5.1.1 no such user', next: 'close' },
  '550- and closes': { say: '550-5.1.1 no', next: 'close' },
  '550 with no end of line, and closes': { bytes: '550 5.1.1 no', next: 'close' },
  '421 with no end of line, and closes': { bytes: '421 4.3.2 going', next: 'close' },
  '250 with no end of line, and closes': { bytes: '250 ok', next: 'close' },
  '55 and closes': { bytes: '55', next: 'close' },
}
const plain = [...well, ...later, ...never, ...none]
const replies: Readonly<Record<string, Step>> = {
  ...Object.fromEntries(plain.map(say => [say.replaceAll('\r\n', ' | '), say])),
  ...odd,
}
const few = [
  ...[
    '250 ok',
    '354 go on',
    '421 4.3.2 going down',
    '451 4.3.0 local error',
    '452 4.5.3 too many recipients',
  ],
  ...[
    '550 5.1.1 no such user',
    '552 too much',
    '554 5.7.1 no',
    'hello',
    '250 and 250',
    '550 and 250',
    'closes',
  ],
  ...['resets', 'says nothing', '250 and closes', '550 and closes', '550- and closes', '55 and closes'],
]
const fewReplies = Object.fromEntries(few.map(name => [name, replies[name]!]))
const apart = '250-peer.test\r\n250-8BITMIME\r\n250 SIZE'
const onlyAt = (count: number, step: Step, otherwise: Step): Step => {
  let at = 0
  return () => (++at === count ? step : otherwise)
}

t.test('a reply to each step', async t => {
  const carry = await openHost(t)
  const steps: Readonly<Record<string, (step: Step) => Script>> = {
    greeting: greeting => ({ greeting }),
    EHLO: EHLO => ({ EHLO }),
    'EHLO and HELO': step => ({ EHLO: step, HELO: step }),
    MAIL: MAIL => ({ MAIL }),
    RCPT: RCPT => ({ RCPT }),
    DATA: DATA => ({ DATA }),
    'the final dot': message => ({ message }),
  }
  const facts: Facts[] = []
  for (const [step, script] of Object.entries(steps))
    for (const [reply, how] of Object.entries(replies))
      facts.push([`${step}: ${reply}`, await carry(script(how))])
  const alone: Readonly<Record<string, (step: Step) => Script>> = {
    MAIL: MAIL => ({ EHLO: apart, MAIL }),
    RCPT: RCPT => ({ EHLO: apart, RCPT }),
    DATA: DATA => ({ EHLO: apart, DATA }),
    'the final dot': message => ({ EHLO: apart, message }),
  }
  for (const [step, script] of Object.entries(alone))
    for (const [reply, how] of Object.entries(fewReplies))
      facts.push([`without PIPELINING, ${step}: ${reply}`, await carry(script(how))])
  sameFacts(t, 'smtp-sessions', facts)
})

/** Without an end, so that what is said while it is sent comes before it. */
async function* endless() {
  yield raw
  await new Promise(() => {})
}

t.test('a reply while the message is sent', async t => {
  const carry = await openHost(t)
  const facts: Facts[] = []
  for (const [reply, duringMessage] of Object.entries(fewReplies))
    for (const [form, message] of [
      ['whole', raw],
      ['a stream', () => Readable.from(endless())],
    ] as const)
      facts.push([`${form}: ${reply}`, await carry({ duringMessage }, { raw: message })])
  const long = Buffer.alloc(200_000, 'line\r\n.\r\n')
  facts.push(['a long one', await carry({}, { raw: long })])
  facts.push(['a long one, refused', await carry({ message: '552 5.3.4 too large' }, { raw: long })])
  facts.push(['a long one, and it closes', await carry({ message: { next: 'close' } }, { raw: long })])
  const once = { finalReplyMs: 30 }
  const mute = { message: { next: 'silence' } } as const
  facts.push(['no answer in time', await carry(mute, { timeouts: once })])
  facts.push(['no answer in time to a long one', await carry(mute, { raw: long, timeouts: once })])
  const slow = { greeting: { next: 'silence' } } as const
  facts.push(['no greeting in time', await carry(slow, { timeouts: { greetingMs: 30 } })])
  sameFacts(t, 'smtp-sessions-message', facts)
})

const ok: Readonly<Record<string, string>> = {
  MAIL: '250 2.1.0 ok',
  RCPT: '250 2.1.5 ok',
  DATA: '354 go on',
  message: '250 2.0.0 taken',
}

t.test('one session, letter after letter', async t => {
  const carry = await openHost(t)
  const facts: Facts[] = []
  const two = { letters: [letter, letter] }
  for (const step of ['MAIL', 'RCPT', 'DATA', 'message'])
    for (const [reply, how] of Object.entries(fewReplies)) {
      const atSecond: Step = ({ number, messages }) =>
        number === 1 && messages > (step === 'message' ? 1 : 0) ? how : ok[step]!
      facts.push([`the second, ${step}: ${reply}`, await carry({ [step]: atSecond }, two)])
    }
  for (const [reply, how] of Object.entries(fewReplies)) {
    // Nobody is left to give up what nobody waits for.
    const isMute = how === silence
    const mute = { ...silence }
    const by = { timeouts: isMute ? { resetMs: 30, quitMs: 30 } : {} }
    const RSET = isMute ? mute : how
    const RCPT = onlyAt(1, '550 5.1.1 no such user', ok.RCPT!)
    facts.push([`after a refusal, RSET: ${reply}`, await carry({ RCPT, RSET }, { ...two, ...by })])
    facts.push([`QUIT: ${reply}`, await carry({ QUIT: RSET }, by)])
  }
  for (const [step, refusal] of [
    ['MAIL', '450 4.1.8 not now'],
    ['RCPT', '452 4.5.3 too many'],
    ['DATA', '451 4.3.0 not now'],
    ['message', '550 5.7.1 spam'],
    ['message', '450 4.7.1 not now'],
  ] as const)
    for (const EHLO of [undefined, apart]) {
      const script = { [step]: onlyAt(1, refusal, ok[step]!), ...(EHLO && { EHLO }) }
      facts.push([`${refusal} to ${step}${EHLO ? ', without PIPELINING' : ''}`, await carry(script, two)])
    }
  const said = [
    '250 ok',
    '550 5.1.1 no such user',
    '452 4.5.3 too many recipients',
    '552 full',
    '251 elsewhere',
  ]
  let at = 0
  const letters = said.map((_, index) => ({ ...letter, rcptTo: `b${index}@there.example` }))
  facts.push(['several recipients', await carry({ RCPT: () => said[at++]! }, { letters, isWhole: true })])
  const not8Bit = [{ ...letter, is8Bit: true }, letter]
  facts.push(['one that it can not take, and another', await carry({ EHLO: '250 x' }, { letters: not8Bit })])
  sameFacts(t, 'smtp-sessions-reused', facts)
})

t.test('what a host announces', async t => {
  const carry = await openHost(t)
  const announced: Readonly<Record<string, Script>> = {
    HELO: { EHLO: '502 5.5.1 no' },
    ...Object.fromEntries(
      [
        [],
        ['SIZE'],
        ['SIZE 0'],
        ['SIZE 500'],
        ['SIZE 499'],
        ['SIZE 100000000000000000000000'],
        ['SIZE 499 500'],
        ['SIZE x'],
        ['SIZE -1'],
        ['SIZE=499'],
        ['size 499'],
        ['SIZE\t499'],
        ['SIZE499'],
        ['XSIZE 499'],
        ['8BITMIME'],
        ['8bitmime'],
        ['8BITMIME '],
        ['X8BITMIME'],
        ['X 8BITMIME'],
        ['SMTPUTF8'],
        ['smtpUTF8', '8BITMIME'],
        ['SMTPUTF8 x', '8BITMIME x'],
        ['UTF8SMTP', 'BINARYMIME', 'CHUNKING'],
        ['PIPELINING'],
        ['pipelining'],
        ['XPIPELINING'],
        ['DSN'],
        ['dsn', 'SIZE 499'],
        ['REQUIRETLS', 'LIMITS RCPTMAX=1 MAILMAX=1'],
        ['AUTH PLAIN LOGIN', 'AUTH=PLAIN', 'ENHANCEDSTATUSCODES', 'HELP', '-', '_', 'é'],
        ['SIZE 499', 'SIZE 10000', '8BITMIME', 'DSN', 'SMTPUTF8', 'PIPELINING'],
      ].map(lines => [`EHLO ${lines.join(', ')}`, { EHLO: replyOf(['peer.test', ...lines]) }]),
    ),
    'in its first line': { EHLO: replyOf(['8BITMIME SMTPUTF8 PIPELINING SIZE 499', 'HELP']) },
    'with LF alone': { EHLO: { bytes: '250-peer\n250-8BITMIME\n250-SMTPUTF8\n250 SIZE 499\n' } },
    'with 299': { EHLO: '299-peer\r\n299-8BITMIME\r\n299 SMTPUTF8' },
    'with codes that differ': { EHLO: '250-peer\r\n251-8BITMIME\r\n250 SMTPUTF8' },
  }
  const notice = { notify: ['SUCCESS', 'FAILURE'], originalRecipient: 'rfc822;c+d@e.example' } as const
  const letters: Readonly<Record<string, Partial<Letter>>> = {
    '500 bytes': { sizeBytes: 500 },
    '8 bits': { sizeBytes: 499, is8Bit: true },
    'a header in UTF-8': { sizeBytes: 10, isUtf8: true },
    'both, from nobody': { is8Bit: true, isUtf8: true, mailFrom: '' },
    'to an address in UTF-8': { rcptTo: 'jürgen@there.example' },
    'from one': { mailFrom: 'jürgen@here.example' },
    'to a domain in UTF-8': { rcptTo: 'b@bücher.example' },
    'with notices': { notice: { ...notice, envelopeId: 'a b=c', returned: 'HDRS' } },
    'with none': {
      notice: { notify: ['NEVER'], originalRecipient: null, envelopeId: null, returned: 'FULL' },
    },
  }
  const facts: Facts[] = []
  for (const [title, script] of Object.entries(announced)) {
    const said: string[] = []
    for (const [what, more] of Object.entries(letters)) {
      const all = await carry(script, { letters: [{ ...letter, ...more }], isWhole: true })
      const asked = all.filter(line => /^C (?:MAIL|RCPT)/.test(line))
      said.push(...[all[2], all[3], ...asked].map(line => `${what}: ${line}`))
    }
    facts.push([title, said])
  }
  sameFacts(t, 'smtp-sessions-extensions', facts)
})

function replyOf(lines: readonly string[]): string {
  return lines.map((line, at) => `250${at < lines.length - 1 ? '-' : ' '}${line}`).join('\r\n')
}

t.test('STARTTLS, and what follows', async t => {
  const carry = await openHost(t)
  const offer = replyOf(['peer.test', 'PIPELINING', '8BITMIME', 'STARTTLS'])
  const proven = { ...opportunistic, demand: { kind: 'certificate' } } as const
  const demands = { free: opportunistic, 'by demand': proven }
  const facts: Facts[] = []
  const two = [letter, letter]
  const go = { say: '220 go', next: 'tls' } as const
  for (const [demand, tls] of Object.entries(demands)) {
    const how = { tls, letters: two }
    facts.push([`${demand}, not offered`, await carry({}, how)])
    facts.push([`${demand}, HELO`, await carry({ EHLO: '502 5.5.1 no' }, how)])
    for (const [reply, STARTTLS] of Object.entries(fewReplies)) {
      const script = { EHLO: offer, STARTTLS, handshake: { next: 'close' } } as const
      facts.push([`${demand}, STARTTLS: ${reply}`, await carry(script, how)])
    }
    const handshakes = { garbage: 'HTTP/1.1 400 no', closes: { next: 'close' }, silence } as const
    for (const [what, handshake] of Object.entries(handshakes)) {
      const script = { EHLO: offer, STARTTLS: '220 go', handshake }
      facts.push([`${demand}, handshake: ${what}`, await carry(script, how)])
    }
    const early = { say: '220 go\r\n250 early', next: 'tls' } as const
    facts.push([
      `${demand}, more behind 220`,
      await carry({ EHLO: offer, STARTTLS: early, secureContext }, how),
    ])
    for (const ca of [undefined, readFileSync(cert, 'utf8')]) {
      const title = `${demand}, a certificate that is ${ca ? '' : 'not '}believed`
      const script = { EHLO: offer, STARTTLS: go, secureContext }
      facts.push([title, await carry(script, { ...how, ...(ca && { ca }) })])
    }
  }
  for (const [reply, how] of Object.entries(fewReplies)) {
    const EHLO: Step = ({ isSecure }) => (isSecure ? how : offer)
    const script = { EHLO, HELO: '550 no', STARTTLS: go, secureContext }
    facts.push([`EHLO behind it: ${reply}`, await carry(script)])
  }
  for (const step of ['MAIL', 'RCPT', 'DATA', 'message'])
    for (const reply of ['550 5.1.1 no such user', '421 4.3.2 going down', 'closes', '550 and closes']) {
      const script = { EHLO: offer, STARTTLS: go, secureContext, [step]: replies[reply] }
      facts.push([`${step} behind it: ${reply}`, await carry(script)])
    }
  sameFacts(t, 'smtp-sessions-tls', facts)
})
