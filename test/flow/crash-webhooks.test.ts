import t from 'tap'
import { apiOf } from '../support/api.ts'
import { settledContradictions } from '../support/consistency.ts'
import { startDaemon } from '../support/daemon.ts'
import { submit } from '../support/smtp-client.ts'
import { until } from '../support/until.ts'
import { startWebhookReceiver } from '../support/webhook-receiver.ts'

/** A whole number from `least` to `most`. */
const between = (least: number, most: number) => least + Math.floor(Math.random() * (most - least + 1))

t.test('every event is told, however often the daemon is killed while it tells', async t => {
  let killAt = Number.POSITIVE_INFINITY
  let onCall = () => {}
  const receiver = await startWebhookReceiver(t, (call, number) => {
    if (number >= killAt) onCall()
    // Every fifth comes through at its second attempt only.
    return { status: call.json.message.subject % 5 === 0 && call.json.attempt === 1 ? 500 : 200 }
  })
  let daemon = await startDaemon(t, {
    toml: '[webhook]\nallow_http = true\nallow_networks = ["127.0.0.0/8"]\nretry = ["1s", "1s", "1s", "1s"]',
  })
  const { token } = await daemon.createKey()
  const apiNow = () => apiOf(daemon.baseUrl, token)
  const inboxes = []
  for (const mailboxName of ['ann', 'bea', 'cyd']) {
    inboxes.push((await apiNow().post('/v1/inboxes', { mailboxName, webhookUrl: receiver.url })).body)
  }

  let sent = 0
  for (let round = 0; round < 3; round++) {
    const killing = new Promise<unknown>(resolve => {
      onCall = () => resolve(daemon.end('SIGKILL'))
    })
    killAt = receiver.calls.length + between(2, 20)
    const sendAll = async (address: string) => {
      for (let n = 0; n < 10; n++) {
        const raw = Buffer.from(`From: bob@example.net\r\nSubject: ${sent++}\r\n\r\nx\r\n`)
        const mail = { from: 'bob@example.net', to: [address], raw }
        // What is cut off is not promised; what is stored all the same has its event.
        if ((await submit('127.0.0.1', daemon.smtpPort, mail).catch(() => undefined)) === undefined) return
      }
    }
    await Promise.all(inboxes.map(inbox => sendAll(inbox.address)))
    await killing
    killAt = Number.POSITIVE_INFINITY
    daemon = await daemon.restart()
  }

  const events = (await apiNow().get('/v1/events?type=message.received&limit=100')).body.data
  t.ok(events.length > 0, `${events.length} events`)
  const ids: string[] = events.map((event: { event_id: string }) => event.event_id)
  const isTold = async (id: string) => {
    const { status, body } = await apiNow().get(`/v1/events/${id}/deliveries`)
    // Whoever asks for that long is asked to wait, too: a key has so many requests a minute.
    if (status === 429) return false
    return body.data[0].state === 'delivered'
  }
  // What was cut off twice rests for a minute.
  for (const id of ids) await until(`${id} is told`, () => isTold(id), 90_000)
  const told = receiver.ids()
  t.strictSame([...new Set(told)].sort(), ids, 'all of them, and nothing else')
  t.comment(
    `${told.length - ids.length} calls more than events, for ${ids.filter((_, n) => n % 5 === 0).length} or so failed ones`,
  )
  t.strictSame(await settledContradictions(daemon.dataDir), [])
  const secrets = inboxes.map(inbox => inbox.webhookSecret.slice('whsec_'.length))
  const log = JSON.stringify(daemon.log())
  t.match(log, 'webhook called')
  for (const secret of secrets) t.notOk(log.includes(secret), 'no secret is logged')
  t.equal(await daemon.end('SIGTERM'), 0)
})
