import t from 'tap'
import { apiOf } from '../support/api.ts'
import type { TestDaemon } from '../support/daemon.ts'
import { disturbNodes } from '../support/disturbances.ts'
import { startDns } from '../support/dns.ts'
import { createInbox } from '../support/mailbox.ts'
import { startNodes } from '../support/nodes.ts'
import { inTurn, lookAtPromises, newNodesLoad, takesPlaces, workOnNodes } from '../support/nodes-load.ts'
import { without } from '../support/peers.ts'
import { startTakingServer } from '../support/soak-load.ts'
import { timeFor } from '../support/soak-watch.ts'
import { until } from '../support/until.ts'
import { startWebhookReceiver } from '../support/webhook-receiver.ts'

const seconds = Number(process.env.NODES_SECONDS ?? 30)
const seed = Number(process.env.NODES_SEED ?? Math.floor(Math.random() * 2 ** 31))
const count = Number(process.env.NODES ?? 3)
/** On a busy machine, with leases of dead nodes that are to be over first. */
const endMs = 180_000
/** What a plan lets one have. */
const places = 12

const toml = `[plan_free]
inboxes = ${places}
cold_recipients_at_first = 0
cold_recipients = 0
[webhook]
allow_http = true
allow_networks = ["127.0.0.0/8"]
retry = ["1s", "1s", "1s", "1s", "1s", "1s", "1s", "1s"]
`

t.test(
  `${count} nodes for ${seconds} s under load, killed and stopped by chance (seed ${seed})`,
  { skip: without('postgres') },
  async t => {
    const server = await startTakingServer(t)
    const dns = await startDns({})
    t.teardown(() => dns.close())
    const domains = [1, 2, 3].map(n => `theirs${n}.example`)
    for (const domain of domains) {
      dns.set(domain, 'MX', [{ priority: 10, exchange: `mx.${domain}` }])
      dns.set(`mx.${domain}`, 'A', ['127.0.0.3'])
    }
    const receiver = await startWebhookReceiver(t)
    const parts = { dns: dns.server, mxPort: server.port, toml }
    const nodes = await startNodes(t, count, parts, 'plan = "free"\n')
    const ann = await createInbox(nodes[0]!, 'ann')
    const { token } = await nodes[0]!.createKey()
    const bea = (await apiOf(nodes[0]!.baseUrl, token).post('/v1/inboxes', { webhookUrl: receiver.url })).body
    /** Those that are down or stand still, by their place among all. */
    const away = new Set<number>()
    const isTimeOver = timeFor(seconds)
    let isOver = false
    const load = newNodesLoad({
      nodes: () => nodes.filter((_, at) => !away.has(at)),
      token,
      inboxes: [ann, bea],
      domains,
      isOver: () => isOver,
    })
    const working = Promise.all([workOnNodes(load), takesPlaces(load, places)])

    const disturbances = await disturbNodes(nodes, away, seed, isTimeOver)
    isOver = true
    await working

    t.comment(disturbances.map(({ what }) => what).join(', '))
    const { broken, doubles, figures } = await lookAtPromises(load, server.taken, endMs)
    t.comment(figures)
    t.ok(disturbances.length > 0 && load.accepted.size > 0 && load.sent.size > 0, 'there was load')
    t.strictSame(broken, [])

    // Only what a node was at when it was killed or stopped may go twice: who has it next begins after that.
    const attempts = server.taken.map((id, at) => ({ id, atMs: server.takenAtMs[at]! }))
    const begunMs = disturbances[0]!.atMs
    const unexplained = doubles.flatMap(id => {
      const takenMs = attempts.filter(one => one.id === id).map(({ atMs }) => atMs)
      const [first, second] = takenMs
      const isExplained = disturbances.some(({ atMs }) => atMs > first! - readLateMs && atMs < second!)
      return isExplained ? [] : `${id} at ${takenMs.map(atMs => Math.round(atMs - begunMs))}`
    })
    const when = disturbances.map(({ what, atMs }) => `${what} at ${Math.round(atMs - begunMs)}`)
    if (unexplained.length > 0) t.comment(nodes.map(one => one.log().filter(({ level }) => level !== 'info')))
    t.strictSame(
      unexplained,
      [],
      `what went twice was cut off between the final dot and its record (${when})`,
    )
    t.ok(doubles.length <= disturbances.length * mostAtOnce, `${doubles.length} went twice`)

    const look = (path: string) => inTurn(() => apiOf(nodes[0]!.baseUrl, token).get(path))
    const { body: inboxes } = await look('/v1/inboxes?limit=100')
    t.equal(inboxes.total, places, 'the last place was had, and had once')
    const inbound = await look(`/v1/inboxes/${bea.id}/messages?direction=inbound&limit=100`)
    const { data: messages } = inbound.body
    await until(
      'all calls of the webhook',
      () => {
        const told = new Set(receiver.calls.map(({ json }) => json.message?.id))
        return messages.every((message: { id: string }) => told.has(message.id))
      },
      endMs,
    )
    for (const one of nodes as TestDaemon[]) {
      // The server ends the transaction of who stands still in it.
      const errors = one
        .log()
        .filter(
          ({ level, msg }) =>
            level === 'fatal' || (level === 'error' && !/can not be written/.test(String(msg))),
        )
      t.strictSame(errors, [])
      t.equal(await one.end('SIGTERM'), 0)
    }
  },
)

/** What was in the socket of a server when its sender ended is read by it so much later at the most, on a busy machine. */
const readLateMs = 5_000
/** As many as one node may have between the final dot and the record: its places. */
const mostAtOnce = 20
