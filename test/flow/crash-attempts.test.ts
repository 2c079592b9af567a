import { once } from 'node:events'
import t from 'tap'
import { type Script, type ScriptedPeer, type Session, startPeer } from '../courier/smtp/scripted-peer.ts'
import { apiOf } from '../support/api.ts'
import { settledContradictions } from '../support/consistency.ts'
import { startDaemon } from '../support/daemon.ts'
import { startDns } from '../support/dns.ts'
import { freePort } from '../support/ports.ts'
import { until } from '../support/until.ts'

/** Where an attempt stands when the process is killed; `message`: the server has it all, and has not answered. */
const steps = ['greeting', 'EHLO', 'STARTTLS', 'MAIL', 'RCPT', 'DATA', 'duringMessage', 'message'] as const
/** What it says there once it goes on. */
const goesOn: Readonly<Record<string, string>> = { greeting: '220 x', EHLO: '250 x', DATA: '354 go' }

interface Line {
  readonly attempts: number
  readonly cutOffs: number
  readonly state: string
  readonly outlook: string
}

t.test('killed at each step of an attempt: it is tried again, and that is counted apart', async t => {
  const names = [...steps, 'answered']
  const addresses = new Map(names.map((name, index) => [name, `127.0.0.${21 + index}`]))
  const port = await freePort(...addresses.values())
  const dns = await startDns({})
  t.teardown(() => dns.close())
  /** How many attempts have come to a step. */
  const reached = new Map<string, number>()
  let kill = () => {}

  /** The first two attempts come so far and no further. */
  const stuckAt = (name: string): Script => {
    const isStuck = ({ number }: Session) => number <= 2
    const step = (session: Session) => {
      if (!isStuck(session)) return goesOn[name] ?? '250 ok'
      reached.set(name, session.number)
      return { next: 'silence' } as const
    }
    const offer = (session: Session) => (isStuck(session) ? '250-x\r\n250 STARTTLS' : '250 x')
    return name === 'STARTTLS' ? { EHLO: offer, STARTTLS: step } : { [name]: step }
  }
  const answered: Script = {
    message() {
      // The words are on their way, and nobody has noted them yet.
      setImmediate(() => kill())
      return '250 2.0.0 taken'
    },
  }
  const peers = new Map<string, ScriptedPeer>()
  for (const [name, address] of addresses) {
    peers.set(name, await startPeer(address, port, name === 'answered' ? answered : stuckAt(name)))
    t.teardown(() => peers.get(name)?.close())
    dns.set(`${name}.example`, 'MX', [{ priority: 10, exchange: `mx.${name}.example` }])
    dns.set(`mx.${name}.example`, 'A', [address])
  }

  let daemon = await startDaemon(t, { dns: dns.server, mxPort: port })
  const { token } = await daemon.createKey()
  const made = await apiOf(daemon.baseUrl, token).post('/v1/inboxes', { mailboxName: 'ann' })
  const ids = new Map<string, string>()
  const send = async (name: string) => {
    const body = { to: `bob@${name}.example`, subject: name, body: 'Hello' }
    const answer = await apiOf(daemon.baseUrl, token).send(String(made.body.id), body, name)
    ids.set(name, String(answer.body.messageId))
  }
  const why = async (name: string): Promise<Line> => {
    const { body } = await apiOf(daemon.baseUrl, token).get(`/v1/queue/${ids.get(name)}`)
    return body.data[0]
  }
  const allAt = (count: number) =>
    until(`attempt ${count} at every step`, () => steps.every(name => (reached.get(name) ?? 0) >= count))

  for (const name of steps) await send(name)
  await allAt(1)
  t.match(await why('MAIL'), { attempts: 0, cutOffs: 0, outlook: /^Attempt 1 is under way;/ })
  await daemon.end('SIGKILL')
  t.match(await daemon.ctl('status'), { daemon: { state: 'down', since: null, endedWithoutWord: true } })

  daemon = await daemon.restart()
  await allAt(2)
  for (const name of steps) {
    const outlook = /^Attempt 1 is under way, after 1 that a crash or a stop cut off;/
    t.match(await why(name), { attempts: 0, cutOffs: 1, outlook }, `${name}: at once, for the first time`)
  }
  kill = () => daemon.process.kill('SIGKILL')
  const ended = once(daemon.process, 'exit')
  await send('answered')
  await ended
  kill = () => {}
  // It asks at the first bytes of a message, whatever they are.
  await peers.get('duringMessage')!.close()
  peers.set('duringMessage', await startPeer(addresses.get('duringMessage')!, port))

  daemon = await daemon.restart()
  const restarted = Date.now()
  await until('what was answered is noted', async () => (await why('answered')).state === 'delivered')
  const taken = peers.get('answered')!.messages.length
  t.ok(taken === 1 || taken === 2, 'cut off before it was noted it comes twice, and never more')
  for (const name of steps) {
    const line = await why(name)
    t.match(line, { attempts: 0, cutOffs: 2, state: 'queued' }, `${name}, twice`)
    const [, due] =
      /^Attempt 1 is due at (\S+), after 2 that a crash or a stop cut off;/.exec(line.outlook) ?? []
    t.ok(Date.parse(due ?? '') <= restarted + 60_000, `a minute at the most: ${line.outlook}`)
  }
  const { data } = await daemon.ctl('queue', 'why', ids.get('MAIL')!)
  t.match(
    data,
    [{ attempts: 0, cutOffs: 2, outlook: /after 2 that a crash or a stop cut off/ }],
    'mailboxctl says it, too',
  )
  await daemon.ctl('queue', 'retry', ...steps.map(name => ids.get(name)!))
  for (const name of steps) {
    await until(`${name} is delivered`, async () => (await why(name)).state === 'delivered')
    t.equal((await why(name)).attempts, 1, `${name}: what was cut off is no attempt`)
    // Of whoever has had all of it nobody here can know (RFC 5321 §4.5.3.2.6).
    t.equal(peers.get(name)!.messages.length, name === 'message' ? 3 : 1)
  }
  t.strictSame(await settledContradictions(daemon.dataDir), [])
})
