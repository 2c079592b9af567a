import pg from 'pg'
import t from 'tap'
import { apiOf } from '../support/api.ts'
import type { TestDaemon } from '../support/daemon.ts'
import { startDns } from '../support/dns.ts'
import { startHaproxy } from '../support/haproxy.ts'
import { createInbox } from '../support/mailbox.ts'
import { startNodes } from '../support/nodes.ts'
import { lookAtPromises, newNodesLoad, workOnNodes } from '../support/nodes-load.ts'
import { startPatroni } from '../support/patroni.ts'
import { without } from '../support/peers.ts'
import { startTakingServer } from '../support/soak-load.ts'
import { until } from '../support/until.ts'

async function isPrimary(connectionString: string): Promise<boolean> {
  const client = new pg.Client({ connectionString })
  client.on('error', () => {})
  try {
    await client.connect()
    const { rows } = await client.query('select pg_is_in_recovery() as "isStandby"')
    return !rows[0].isStandby
  } catch {
    return false
  } finally {
    await client.end().catch(() => {})
  }
}

/** On a busy machine; the lock of a leader that was killed lasts for its `ttl`. */
const goesOnMs = 120_000

t.test(
  'two nodes on Patroni behind HAProxy: its leader is handed over, and killed; nothing promised is lost',
  { skip: without('postgres', 'patroni', 'etcd', 'haproxy') },
  async t => {
    const cluster = await startPatroni(3)
    t.teardown(() => cluster.stop())
    const address = await startHaproxy(t, cluster.members)
    const database = `postgres://postgres@${address}/mail`
    await until('the primary behind the proxy', async () => {
      const client = new pg.Client({ connectionString: `postgres://postgres@${address}/postgres` })
      client.on('error', () => {})
      try {
        await client.connect()
        await client.query('create database mail')
        return true
      } catch {
        return false
      } finally {
        await client.end().catch(() => {})
      }
    })
    // HAProxy takes every member for the primary until it has asked it, and a standby may not have the new database yet.
    for (let sound = 0; sound < 10; ) sound = (await isPrimary(database)) ? sound + 1 : 0
    const server = await startTakingServer(t)
    const dns = await startDns({})
    t.teardown(() => dns.close())
    dns.set('theirs.example', 'MX', [{ priority: 10, exchange: 'mx.theirs.example' }])
    dns.set('mx.theirs.example', 'A', ['127.0.0.3'])
    const nodes = await startNodes(t, 2, { dns: dns.server, mxPort: server.port, database })
    const [a, b] = nodes as [TestDaemon, TestDaemon]
    const ann = await createInbox(a, 'ann')
    const { token } = await b.createKey()
    let isOver = false
    const load = newNodesLoad({
      nodes: () => nodes,
      token,
      inboxes: [ann],
      domains: ['theirs.example'],
      isOver: () => isOver,
    })
    const more = async (what: string) => {
      const [mails, sent] = [load.accepted.size, load.sent.size]
      const isMore = () => load.accepted.size >= mails + 20 && load.sent.size >= sent + 8
      await until(`more ${what}`, isMore, goesOnMs)
    }
    const working = workOnNodes(load)
    await more('before')

    const first = (await cluster.leader())!
    await cluster.switchover(first)
    await until('another leader', async () => ![undefined, first].includes(await cluster.leader()), goesOnMs)
    await more('after it was handed over')
    await until('all members in step', cluster.isWhole, goesOnMs)

    const second = (await cluster.leader())!
    await second.kill()
    await until('a third leader', async () => ![undefined, second].includes(await cluster.leader()), goesOnMs)
    await more('after it was killed')
    isOver = true
    await working

    const { broken, doubles, figures } = await lookAtPromises(load, server.taken, goesOnMs)
    t.comment(figures)
    t.strictSame(broken, [])
    t.strictSame(doubles, [], 'no attempt was made twice')
    t.match(await apiOf(a.baseUrl, token).get('/health'), { status: 200 })
    for (const one of nodes) t.equal(await one.end('SIGTERM'), 0)
  },
)
