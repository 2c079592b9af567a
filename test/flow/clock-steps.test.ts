import t from 'tap'
import { apiOf } from '../support/api.ts'
import { clockStep } from '../support/clock-step.ts'
import { startDaemon } from '../support/daemon.ts'
import { without } from '../support/peers.ts'
import { submit } from '../support/smtp-client.ts'
import { until } from '../support/until.ts'
import { startWebhookReceiver } from '../support/webhook-receiver.ts'

const hour = 3_600
const toml = `[webhook]
allow_http = true
allow_networks = ["127.0.0.0/8"]
retry = [${'"3s", '.repeat(8)}]`

t.test(
  'the clock is set back and forth: what is due comes, and nothing stands still',
  { skip: without('gcc') },
  async t => {
    const clock = clockStep(t)
    let refused = 0
    let isWell = false
    const receiver = await startWebhookReceiver(t, () => {
      if (!isWell) refused++
      return { status: isWell ? 200 : 503 }
    })
    const daemon = await startDaemon(t, { env: clock.env, toml })
    const api = apiOf(daemon.baseUrl, (await daemon.createKey()).token)
    const { body: ann } = await api.post('/v1/inboxes', { mailboxName: 'ann', webhookUrl: receiver.url })
    const raw = Buffer.from('From: bob@example.net\r\nSubject: s\r\n\r\nx\r\n')
    const mail = () =>
      submit('127.0.0.1', daemon.smtpPort, { from: 'bob@example.net', to: [ann.address], raw })
    const messages = async () => (await api.get(`/v1/inboxes/${ann.id}/messages`)).body
    await mail()
    await until('a call that failed', () => refused === 1)

    clock.set(-hour)
    await until('its repeat, which does not wait for an hour', () => refused === 2)
    const [told] = daemon.log().filter(({ msg }) => /^the clock was set back/.test(String(msg)))
    t.ok(Math.abs(Number(told?.byMs) - hour * 1000) < 60_000, `${told?.byMs} ms`)
    await mail()
    t.equal((await messages()).total, 2)
    isWell = true
    await until('both are told', () => new Set(receiver.ids()).size === 2)

    clock.set(24 * hour)
    await mail()
    const { data } = await messages()
    t.equal(data.length, 3)
    t.equal((await fetch(`${daemon.baseUrl}/health`)).status, 200)
    await until('the third', () => new Set(receiver.ids()).size === 3)
    clock.set(0)
    await mail()
    await until('the fourth', () => new Set(receiver.ids()).size === 4)
    const ids = receiver.ids()
    t.strictSame([...new Set(ids)], [...new Set(ids)].sort(), 'ids go on, whatever the clock shows')
    t.strictSame(
      daemon.log().filter(({ level }) => level === 'error' || level === 'fatal'),
      [],
    )
  },
)
