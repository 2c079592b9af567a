import t from 'tap'
import { walBytes } from '../../lib/core/app/storage-watch.ts'
import { apiOf } from '../support/api.ts'
import { startDaemon } from '../support/daemon.ts'
import { startDns } from '../support/dns.ts'
import {
  bringsMail,
  type Load,
  type Promised,
  readsForeign,
  sendsMail,
  startTakingServer,
  subscribes,
  usesTheApi,
} from '../support/soak-load.ts'
import { quantile, type Seen, summary, timeFor, watch } from '../support/soak-watch.ts'
import { until } from '../support/until.ts'
import { startWebhookReceiver } from '../support/webhook-receiver.ts'

const seconds = Number(process.env.SOAK_SECONDS ?? 45)
/** A daemon lives so long until it is killed or stopped, by turns. */
const lifeSeconds = Math.min(300, seconds / 3)
const mebibyte = 1024 * 1024

/** What it may take, however long it runs. */
const bounds = {
  rssBytes: 600 * mebibyte,
  descriptors: 400,
  /** As long as somebody else reads, the log can't begin anew. */
  logBytes: 2 * walBytes,
  /** What nine of ten turns of the main thread's loop may be late, had it the processor for itself, in nineteen of twenty seconds. */
  loopDelayMs: 250,
}

const toml = `
[webhook]
allow_http = true
allow_networks = ["127.0.0.0/8"]
retry = ["1s", "1s", "1s", "1s", "1s", "1s", "1s", "1s"]
[metrics]
listen = ["127.0.0.1:0"]`

t.test(`mixed load for ${seconds} s, with kills`, async t => {
  const server = await startTakingServer(t)
  const dns = await startDns({})
  t.teardown(() => dns.close())
  const domains = ['theirs.example', 'others.example', 'refuses.example', 'silent.example']
  for (const domain of domains) {
    dns.set(domain, 'MX', [{ priority: 10, exchange: `mx.${domain}` }])
    // Nobody is there for the last.
    dns.set(`mx.${domain}`, 'A', [domain === 'silent.example' ? '127.0.0.4' : '127.0.0.3'])
  }
  const receiver = await startWebhookReceiver(t, ({ json }) => {
    // In an hour they are gigabytes.
    receiver.calls.length = 0
    return { status: json.attempt === 1 ? 500 : 200 }
  })
  let daemon = await startDaemon(t, { dns: dns.server, mxPort: server.port, toml, smtp: 'threads = 2' })
  const { token } = await daemon.createKey()
  const made = await apiOf(daemon.baseUrl, token).post('/v1/inboxes', {
    mailboxName: 'ann',
    webhookUrl: receiver.url,
  })
  const promised: Promised = { received: new Set(), sent: new Set() }
  const isOver = timeFor(seconds)
  const load: Load = { daemon: () => daemon, token, inbox: made.body, isOver, promised }
  const working = [
    ...[1, 2, 3].map(() => bringsMail(load)),
    ...[1, 2].map(() => sendsMail(load, domains)),
    usesTheApi(load),
    subscribes(load),
    readsForeign(load),
  ]
  const all: Seen[] = []
  for (let life = 1; !isOver(); life++) {
    const seen: Seen[] = []
    const isLifeOver = timeFor(lifeSeconds)
    await watch(daemon, seen, () => isOver() || isLifeOver())
    all.push(...seen)
    t.comment(`life ${life}: ${seen.length} looks, ${summary(seen)}`)
    if (isOver()) break
    // By turns; startDaemon looks after each whether anything contradicts itself.
    await daemon.end(life % 2 === 1 ? 'SIGKILL' : 'SIGTERM')
    daemon = await daemon.restart()
  }
  await Promise.all(working)

  const rss = all.map(one => one.figures.rssBytes)
  t.ok(all.length > 0, summary(all))
  t.ok(Math.max(...rss) < bounds.rssBytes, `memory stays under ${bounds.rssBytes / mebibyte} MB`)
  t.ok(
    Math.max(...all.map(one => one.figures.descriptors)) < bounds.descriptors,
    `files and sockets stay under ${bounds.descriptors}`,
  )
  t.ok(
    Math.max(...all.map(one => one.logBytes)) < bounds.logBytes,
    `the log stays under ${bounds.logBytes / mebibyte} MB`,
  )
  t.ok(
    quantile(
      all.map(one => one.loopDelayMs),
      0.95,
    ) < bounds.loopDelayMs,
    `the loop stays under ${bounds.loopDelayMs} ms`,
  )

  const api = apiOf(daemon.baseUrl, token)
  const received = await listAll(api, `/v1/inboxes/${load.inbox.id}/messages?direction=inbound`)
  const ids = new Set(received.map(one => one.rfcMessageId))
  t.ok(promised.received.size > 0 && promised.sent.size > 0, 'there was load')
  t.strictSame(
    [...promised.received].filter(id => !ids.has(id)),
    [],
    `all ${promised.received.size} that got their 250 are there`,
  )
  t.equal(ids.size, received.length, 'each once')
  const outcomes = async () => {
    const sent = await listAll(api, `/v1/inboxes/${load.inbox.id}/messages?direction=outbound`)
    const ofId = new Map(sent.map(one => [one.rfcMessageId, one]))
    const lost = [...promised.sent].filter(id => !ofId.has(id))
    const isOpen = (one: Listed) => one.status === 'pending' && !one.toAddr.endsWith('@silent.example')
    return { lost, open: sent.filter(isOpen), went: sent.filter(one => one.status === 'sent') }
  }
  await until('all is sent or refused', async () => (await outcomes()).open.length === 0, 300_000)
  const { lost, went } = await outcomes()
  t.strictSame(lost, [], `all ${promised.sent.size} that got their 200 are there`)
  const taken = new Set(server.taken)
  t.strictSame(
    went.filter(one => !taken.has(one.rfcMessageId)),
    [],
    `all ${went.length} that are told as sent have arrived`,
  )
  t.strictSame(
    daemon.log().filter(({ level }) => level === 'error' || level === 'fatal'),
    [],
  )
})

interface Listed {
  readonly rfcMessageId: string
  readonly status: string
  readonly toAddr: string
}

async function listAll(api: ReturnType<typeof apiOf>, path: string): Promise<Listed[]> {
  const all: Listed[] = []
  for (;;) {
    // After an hour there are more pages than a key may ask for in a minute.
    const { status, body } = await until(
      'its turn',
      async () => {
        const answer = await api.get(`${path}&limit=100&offset=${all.length}`)
        return answer.status !== 429 && answer
      },
      90_000,
    )
    if (status !== 200) throw new Error(`${status}: ${JSON.stringify(body)}`)
    const { data } = body
    if (data.length === 0) return all
    // Without their text.
    for (const { rfcMessageId, status, toAddr } of data) all.push({ rfcMessageId, status, toAddr })
  }
}
