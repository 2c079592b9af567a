import t from 'tap'
import { apiOf } from '../support/api.ts'
import type { TestDaemon } from '../support/daemon.ts'
import { startDns } from '../support/dns.ts'
import { startEndpoint } from '../support/endpoint.ts'
import { createInbox } from '../support/mailbox.ts'
import { startNodes } from '../support/nodes.ts'
import { lookAtPromises, newNodesLoad, workOnNodes } from '../support/nodes-load.ts'
import { without } from '../support/peers.ts'
import { promote, startReplicated } from '../support/postgres.ts'
import { startTakingServer } from '../support/soak-load.ts'
import { until } from '../support/until.ts'
import { startWebhookReceiver } from '../support/webhook-receiver.ts'

const webhook = `
[webhook]
allow_http = true
allow_networks = ["127.0.0.0/8"]
retry = ["1s", "1s", "1s", "1s", "1s", "1s", "1s", "1s"]
`
/** On a busy machine. */
const goesOnMs = 90_000

t.test(
  'the standby of the database of two nodes takes over at their one endpoint; nothing promised is lost',
  { skip: without('postgres') },
  async t => {
    const server = await startTakingServer(t)
    const dns = await startDns({})
    t.teardown(() => dns.close())
    dns.set('theirs.example', 'MX', [{ priority: 10, exchange: 'mx.theirs.example' }])
    dns.set('mx.theirs.example', 'A', ['127.0.0.3'])
    const receiver = await startWebhookReceiver(t)
    const { primary, standby } = await startReplicated()
    t.teardown(() => Promise.all([primary.stop(), standby.stop()]))
    const endpoint = await startEndpoint(t, primary.url)
    const database = `postgres://postgres@${endpoint.host}/migrated`
    const nodes = await startNodes(t, 2, { dns: dns.server, mxPort: server.port, toml: webhook, database })
    const [a, b] = nodes as [TestDaemon, TestDaemon]
    const ann = await createInbox(a, 'ann')
    const { token } = await b.createKey()
    const bea = (await apiOf(b.baseUrl, token).post('/v1/inboxes', { webhookUrl: receiver.url })).body
    let isOver = false
    const load = newNodesLoad({
      nodes: () => nodes,
      token,
      inboxes: [ann, bea],
      domains: ['theirs.example'],
      isOver: () => isOver,
    })
    const health = async () =>
      Promise.all(
        nodes.map(async one => (await fetch(`${one.baseUrl}/health`).catch(() => undefined))?.status),
      )
    const more = async (what: string) => {
      const [mails, sent] = [load.accepted.size, load.sent.size]
      const isMore = () => load.accepted.size >= mails + 20 && load.sent.size >= sent + 8
      await until(`more ${what}`, isMore, goesOnMs)
    }
    const comesBack = async (what: string) => {
      await until(
        `both to be ready ${what}`,
        async () => (await health()).every(one => one === 200),
        goesOnMs,
      )
      await more(what)
      // It is told when all was written for a while.
      const isToldAsOver = (one: TestDaemon) =>
        /can be written again/.test(String(one.troubles().at(-1)?.msg))
      await until(`its end to be told ${what}`, () => nodes.every(isToldAsOver), goesOnMs)
    }
    const working = workOnNodes(load)
    await more('before')

    await primary.end('SIGKILL')
    await until('both to say that they are not ready', async () =>
      (await health()).every(status => status === 503),
    )
    const refused = await apiOf(a.baseUrl, token).get('/v1/inboxes')
    t.match(refused, { status: 503, body: { error: 'unavailable', message: /database does not answer/ } })
    // One that is no primary yet is not asked.
    endpoint.lead(standby.url)
    const answered = await apiOf(a.baseUrl, token).get('/v1/inboxes')
    t.equal(answered.status, 503)
    await promote(standby)
    await comesBack('on the standby')

    await standby.end('SIGINT')
    await until('both to say so', async () => (await health()).every(status => status === 503), goesOnMs)
    await standby.start()
    await comesBack('after a restart')
    isOver = true
    await working

    const { broken, doubles, figures } = await lookAtPromises(load, server.taken, goesOnMs)
    t.comment(figures)
    t.strictSame(broken, [])
    t.strictSame(doubles, [], 'no attempt was made twice')
    const told = new Set(receiver.calls.map(({ json }) => json.message?.id))
    const { data } = (await apiOf(a.baseUrl, token).get(`/v1/inboxes/${bea.id}/messages?limit=100`)).body
    await until(
      'all calls of the webhook',
      () => {
        for (const { json } of receiver.calls) told.add(json.message?.id)
        return data.every((message: { id: string }) => told.has(message.id))
      },
      goesOnMs,
    )
    for (const one of nodes) {
      const lines = one.troubles().map(({ msg }) => String(msg))
      const told = /the database can (not )?be written|lease lost|can not renew its lease/
      t.ok(lines.length >= 4 && lines.every(line => told.test(line)), String(lines))
      t.equal(await one.end('SIGTERM'), 0)
    }
  },
)
