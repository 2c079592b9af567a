import { Webhook } from 'standardwebhooks'
import t from 'tap'
import { apiOf } from '../support/api.ts'
import { settledContradictions } from '../support/consistency.ts'
import { startDaemon } from '../support/daemon.ts'
import { submit } from '../support/smtp-client.ts'
import { until } from '../support/until.ts'
import { type Reply, startWebhookReceiver } from '../support/webhook-receiver.ts'

const toml = '[webhook]\nallow_http = true\nallow_networks = ["127.0.0.0/8"]'
const mail = (to: string, subject: string) => ({
  from: 'bob@example.net',
  to: [to],
  raw: Buffer.from(`From: bob@example.net\r\nTo: ${to}\r\nSubject: ${subject}\r\n\r\nHello\r\n`),
})

t.test('mail that comes and mail that goes is told, in order, and told again', async t => {
  const receiver = await startWebhookReceiver(t)
  const daemon = await startDaemon(t, { toml })
  const { token } = await daemon.createKey()
  const api = apiOf(daemon.baseUrl, token)
  const [ann, bea] = await Promise.all(
    ['ann', 'bea'].map(
      async mailboxName => (await api.post('/v1/inboxes', { mailboxName, webhookUrl: receiver.url })).body,
    ),
  )
  const of = (inboxId: string) => receiver.calls.filter(call => call.json.inbox_id === inboxId)
  await Promise.all(
    Array.from({ length: 20 }, (_, n) => submit('127.0.0.1', daemon.smtpPort, mail(ann.address, `${n}`))),
  )
  await until('all of them', () => of(ann.id).length === 20)
  const told = of(ann.id).map(call => call.json.event_id)
  t.strictSame(told, told.toSorted(), 'in the order in which they came')
  for (const call of of(ann.id)) {
    const headers = call.headers as Record<string, string>
    t.ok(new Webhook(ann.webhookSecret).verify(call.body, headers))
    t.throws(() => new Webhook(bea.webhookSecret).verify(call.body, headers))
  }

  // Between two inboxes here, without any network.
  await api.send(bea.id, { to: ann.address, subject: 'From Bea', body: 'Hi' })
  await until('what became of it', () => of(bea.id).length === 2)
  t.strictSame(
    of(bea.id).map(call => [call.json.event, call.json.data.recipient ?? null]),
    [
      ['message.delivered', ann.address],
      ['message.sent', null],
    ],
  )
  const { calls } = receiver
  await until('its arrival', () =>
    calls.some(call => call.json.message?.subject === 'From Bea' && call.json.event === 'message.received'),
  )

  // mailboxctl writes beside the daemon, which finds it.
  const before = calls.length
  await daemon.ctl('event', 'redeliver', told[3]!)
  await until('it again', () => calls.length === before + 1)
  t.equal(calls.at(-1)!.json.event_id, told[3])
  t.equal(await daemon.end('SIGTERM'), 0)
  t.strictSame(await settledContradictions(daemon.dataDir), [], 'nothing contradicts itself')
})

t.test('a stop ends calls under way, and they are made at the next start', async t => {
  let reply: Promise<Reply> | Reply = new Promise(() => {})
  const receiver = await startWebhookReceiver(t, () => reply)
  const daemon = await startDaemon(t, { toml })
  const { token } = await daemon.createKey()
  const { address } = (await apiOf(daemon.baseUrl, token).post('/v1/inboxes', { webhookUrl: receiver.url }))
    .body
  await submit('127.0.0.1', daemon.smtpPort, mail(address, 'held'))
  await until('the call', () => receiver.calls.length === 1)
  t.equal(await daemon.end('SIGTERM'), 0)
  reply = { status: 200 }
  const again = await daemon.restart()
  await until('the call again', () => receiver.calls.length === 2)
  t.equal(receiver.ids()[0], receiver.ids()[1])
  t.equal(await again.end('SIGTERM'), 0)
})

t.test('a receiver that takes nothing is told of once at its begin and once at its end', async t => {
  const failing = 5
  const receiver = await startWebhookReceiver(t, (_, number) => ({ status: number <= failing ? 503 : 200 }))
  const daemon = await startDaemon(t, { toml: `${toml}\nretry = [${'"1s", '.repeat(8)}]` })
  const { token } = await daemon.createKey()
  const api = apiOf(daemon.baseUrl, token)
  const { body: ann } = await api.post('/v1/inboxes', { mailboxName: 'ann', webhookUrl: receiver.url })
  await submit('127.0.0.1', daemon.smtpPort, mail(ann.address, 'one'))
  await until('it is taken', () => receiver.calls.length === failing + 1)
  const about = () => daemon.log().filter(({ msg }) => /^a webhook takes/.test(String(msg)))
  await until('both', () => about().length === 2)
  t.match(about(), [
    { level: 'warn', inboxId: ann.id, msg: 'a webhook takes no calls: it gets one at a time from now on' },
    { level: 'warn', inboxId: ann.id, failed: failing, msg: 'a webhook takes calls again' },
  ])
})
