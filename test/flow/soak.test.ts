import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { limits } from '../../lib/base/limits.ts'
import { databasePath } from '../../lib/core/open.ts'
import { apiOf } from '../support/api.ts'
import { startDaemon, type TestDaemon } from '../support/daemon.ts'
import { startDns } from '../support/dns.ts'
import { type Figures, readFigures, sizeOf } from '../support/process-figures.ts'
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
  logBytes: 2 * limits.logBytes,
  /** What nine of ten turns of the main thread's loop may be late, had it the processor for itself, in nineteen of twenty seconds. */
  loopDelayMs: 250,
}

interface Seen {
  figures: Figures
  logBytes: number
  loopDelayMs: number
}

const toml = `
[webhook]
allow_http = true
allow_networks = ["127.0.0.0/8"]
retry = ["1s", "1s", "1s", "1s", "1s", "1s", "1s", "1s"]
[metrics]
listen = ["127.0.0.1:0"]`

/** What one daemon takes, looked at every second until it ends. */
async function watch(daemon: TestDaemon, seen: Seen[], isOver: () => boolean): Promise<void> {
  const told = daemon.log().find(line => line.msg === 'metrics can be asked for')
  const url = `http://${(told as unknown as { metrics: string[] }).metrics[0]}/metrics`
  let before = readFigures(daemon.process.pid!)
  while (!isOver() && before) {
    await pause(1_000)
    const text = await fetch(url).then(
      answer => answer.text(),
      () => '',
    )
    const figures = readFigures(daemon.process.pid!)
    const lag = /^mailboxd_nodejs_eventloop_lag_p90_seconds (\S+)$/m.exec(text)?.[1]
    if (!figures || lag === undefined) return
    const ranMs = figures.ranMs - before.ranMs
    const stretch = (ranMs + figures.waitedMs - before.waitedMs) / Math.max(1, ranMs)
    before = figures
    const logBytes = sizeOf(`${databasePath(daemon.dataDir)}-wal`)
    seen.push({ figures, logBytes, loopDelayMs: (Number(lag) * 1000) / Math.max(1, stretch) })
  }
}

/** The value that a share of all are not above. */
function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}

function summary(seen: readonly Seen[]): string {
  const most = (of: (one: Seen) => number) => Math.round(Math.max(...seen.map(of)))
  const delay = Math.round(
    quantile(
      seen.map(one => one.loopDelayMs),
      0.95,
    ),
  )
  return `${most(one => one.figures.rssBytes / mebibyte)} MB, ${most(one => one.figures.descriptors)} descriptors, log ${most(one => one.logBytes / mebibyte)} MB, loop ${delay} ms late`
}

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
  const receiver = await startWebhookReceiver(t, ({ json }) => ({ status: json.attempt === 1 ? 500 : 200 }))
  let daemon = await startDaemon(t, { dns: dns.server, mxPort: server.port, toml, smtp: 'threads = 2' })
  const token = String((await daemon.ctl('key', 'create')).token)
  const made = await apiOf(daemon.baseUrl, token).post('/v1/inboxes', {
    mailboxName: 'ann',
    webhookUrl: receiver.url,
  })
  const promised: Promised = { received: new Set(), sent: new Set() }
  const endsAt = performance.now() + seconds * 1000
  const isOver = () => performance.now() >= endsAt
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
    const lifeEnds = Math.min(endsAt, performance.now() + lifeSeconds * 1000)
    await watch(daemon, seen, () => performance.now() >= lifeEnds)
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
  const ids = received.map(one => one.rfcMessageId)
  t.ok(promised.received.size > 0 && promised.sent.size > 0, 'there was load')
  t.strictSame(
    [...promised.received].filter(id => !ids.includes(id)),
    [],
    `all ${promised.received.size} that got their 250 are there`,
  )
  t.equal(new Set(ids).size, ids.length, 'each once')
  const outcomes = async () => {
    const sent = await listAll(api, `/v1/inboxes/${load.inbox.id}/messages?direction=outbound`)
    const ofId = new Map(sent.map(one => [one.rfcMessageId, one]))
    const lost = [...promised.sent].filter(id => !ofId.has(id))
    const isOpen = (one: Listed) => one.status === 'pending' && !one.toAddr.endsWith('@silent.example')
    return { lost, open: sent.filter(isOpen), went: sent.filter(one => one.status === 'sent') }
  }
  await until('all is sent or refused', async () => (await outcomes()).open.length === 0, 90_000)
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
    const { data } = (await api.get(`${path}&limit=100&offset=${all.length}`)).body
    if (data.length === 0) return all
    all.push(...data)
  }
}
