import { once } from 'node:events'
import { PassThrough, Readable } from 'node:stream'
import { setInterval } from 'node:timers/promises'
import type SMTPConnection from 'nodemailer/lib/smtp-connection'
import t from 'tap'
import { boundReplies, smtpReplyBytes } from '../../../lib/courier/smtp/remote-reply.ts'
import { until } from '../../support/until.ts'
import { delivery, loopback, outcomeOf, raw } from '../loopback.ts'
import type { Script } from './scripted-peer.ts'

const apart = '250-peer.test\r\n250 ENHANCEDSTATUSCODES'
const text = /said what it was not asked/
const drip = () => Readable.from(setInterval(20, raw))

const tooEarly: [string, Script][] = [
  ['a second line behind the greeting', { greeting: '220 peer.test\r\n250 ok' }],
  ['a reply behind that to EHLO', { EHLO: `${apart}\r\n250 ok` }],
  ['all replies at MAIL', { EHLO: apart, MAIL: '250 ok\r\n250 ok\r\n354 go\r\n250 taken' }],
  ['all of a pipeline, and the one to the dot', { MAIL: '250 ok\r\n250 ok\r\n354 go\r\n250 taken' }],
  ['that to DATA at RCPT', { EHLO: apart, RCPT: '250 ok\r\n354 go' }],
  ['that to the dot with 354', { DATA: '354 go\r\n250 taken' }],
  ['that to the dot in several lines', { DATA: '354 go\r\n250-taken\r\n250 well' }],
  ['that to the dot while the message comes', { duringMessage: '250 taken' }],
]

for (const [name, script] of tooEarly)
  t.test(`${name}: nothing is delivered, and the host is what failed`, async t => {
    const { courier, peers } = await loopback(t, [{ message: { next: 'silence' }, ...script }], {
      timeouts: { finalReplyMs: 300 },
    })
    // Without an end, so that what is said while the message is sent comes before it.
    const sent = 'duringMessage' in script ? drip : raw
    const outcome = await outcomeOf(courier, delivery(), sent)
    t.match(outcome, { result: 'transient', replyClass: 'host', text }, JSON.stringify(outcome))
    t.equal(outcome.code, undefined)
    await until('the session has ended', () => peers[0]?.open === 0)
  })

t.test('another host of the domain takes what the first is out of step for', async t => {
  const { courier, peers } = await loopback(t, [{ MAIL: '250 ok\r\n250 ok\r\n354 go\r\n250 taken' }, {}])
  t.match(await courier.carry(delivery(), raw), { result: 'delivered', address: '127.0.0.3' })
  t.equal(peers[1]?.messages.length, 1)
})

const answers: [string, Script, object][] = [
  ['that the message is taken, and a farewell', { message: '250 taken\r\n221 bye' }, { result: 'delivered' }],
  ['that it is taken, twice', { message: '250 taken\r\n250 taken' }, { result: 'delivered' }],
  ['that it is taken, and part of a line', { message: '250 taken\r\n45' }, { result: 'delivered' }],
  ['that it is refused', { message: '554 5.7.1 spam\r\n221 bye' }, { result: 'permanent', code: 554 }],
  [
    'that there is no such user',
    { EHLO: apart, RCPT: '550 5.1.1 no\r\n221 bye' },
    { result: 'permanent', code: 550 },
  ],
  [
    'that to a pipeline',
    { RCPT: '550 5.1.1 no', DATA: '503 none\r\n221 bye' },
    { result: 'permanent', code: 550 },
  ],
]

for (const [name, script, wanted] of answers)
  t.test(`${name}: it counts, whatever stands behind it, and the session ends`, async t => {
    const { courier, peers } = await loopback(t, [script])
    const outcome = await courier.carry(delivery(), raw)
    t.match(outcome, wanted, JSON.stringify(outcome))
    await until('the session has ended', () => peers[0]?.open === 0)
    t.equal(peers[0]?.connections, 1)
  })

t.test('a session that waits and is spoken to is not used again', async t => {
  const quiet = await loopback(t, [{}])
  for (let n = 0; n < 3; n++) t.match(await quiet.courier.carry(delivery(), raw), { result: 'delivered' })
  t.equal(quiet.peers[0]?.connections, 1)
  const spoken = await loopback(t, [{ message: '250 taken\r\n250 and the next' }])
  for (let n = 0; n < 2; n++)
    t.match(await spoken.courier.carry(delivery(), raw), { result: 'delivered', text: 'taken' })
  t.equal(spoken.peers[0]?.connections, 2)
})

t.test('421 may come at any time, and a refusal while the message is sent', async t => {
  const closing = await loopback(t, [{ DATA: { say: '354 go\r\n421 4.3.2 going down', next: 'close' } }])
  t.match(await closing.courier.carry(delivery(), raw), { result: 'transient', code: 421 })
  const refusing = await loopback(t, [{ duringMessage: { say: '552 5.3.4 too large', next: 'silence' } }])
  t.match(await refusing.courier.carry(delivery(), drip), { result: 'permanent', code: 552 })
})

t.test('part of a line that begins too early is no answer to what comes behind it', t => {
  for (const [early, isSending, isRefused] of [
    ['250 ta', false, true],
    ['2', true, true],
    ['25', false, true],
    ['42', false, false],
    ['421 go', false, false],
    ['552 to', true, false],
    ['552 to', false, true],
    ['\r\n \r\n', false, false],
  ] as const) {
    const errors: string[] = []
    const connection = {
      _onData() {},
      _sendCommand() {},
      _onResponseTooLarge() {},
      _onError: (_error: Error, code: string) => errors.push(code),
    }
    boundReplies(connection as unknown as SMTPConnection)
    const talk = connection as unknown as { _onData(chunk: Buffer): void; _sendCommand(line: string): void }
    talk._onData(Buffer.from('220-peer\r\n22'))
    talk._onData(Buffer.from('0 peer\r\n'))
    talk._sendCommand('DATA')
    talk._onData(Buffer.from(isSending ? '354 go\r\n' : '250 ok\r\n'))
    t.strictSame(errors, [])
    talk._onData(Buffer.from(early))
    t.equal(errors.length > 0, isRefused, JSON.stringify(early))
  }
  t.end()
})

t.test('of what a host answers so much is kept, however many commands it answers', t => {
  const connection = {
    ...{ _onData() {}, _sendCommand() {}, _createSendStream: () => new PassThrough() },
    ...{
      _onResponseTooLarge: () => t.fail('each answer is short enough'),
      _onError: (error: Error) => t.error(error),
    },
  }
  const hearing = boundReplies(connection as unknown as SMTPConnection)
  const talk = connection as unknown as { _onData(chunk: Buffer): void; _sendCommand(line: string): void }
  talk._onData(Buffer.from('220 peer\r\n'))
  const answer = `250 ${'x'.repeat(smtpReplyBytes - 6)}\r\n`
  for (let n = 0; n < 5; n++) {
    talk._sendCommand('RCPT TO:<bob@there.example>')
    talk._onData(Buffer.from(answer))
  }
  t.ok(hearing.text.startsWith(`220 peer\r\n${answer}`))
  t.ok(hearing.text.length < 3 * smtpReplyBytes, `${hearing.text.length}`)
  t.end()
})

t.test('a yes to the message is due when its end has gone to the socket, and not before', async t => {
  for (const isEarly of [true, false]) {
    const errors: string[] = []
    const message = new PassThrough()
    const connection = {
      _onData() {},
      _sendCommand() {},
      _createSendStream: () => message,
      _onResponseTooLarge() {},
      _onError: (_error: Error, code: string) => errors.push(code),
    }
    boundReplies(connection as unknown as SMTPConnection)
    const talk = connection as unknown as { _onData(chunk: Buffer): void; _sendCommand(line: string): void }
    talk._onData(Buffer.from('220 peer\r\n'))
    talk._sendCommand('DATA')
    talk._onData(Buffer.from('354 go\r\n'))
    connection._createSendStream()
    // All of it is written, and nobody has read the end.
    message.end('the message')
    if (!isEarly) await once(message.resume(), 'end')
    talk._onData(Buffer.from('250 taken\r\n'))
    t.equal(errors.length, isEarly ? 1 : 0)
  }
})
