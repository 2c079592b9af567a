/**
 * `bin/node bench/patroni.ts [--members N] [kill|switchover|etcd|pause|alone]`: two nodes on a Patroni cluster (etcd, synchronous_mode) behind HAProxy under load. Its
 * leader is killed with its Patroni, handed over, left without etcd, made to stand still until another leads, and left by its Patroni alone:
 * after the last two there are two primaries for a while. It says for how long nothing was confirmed, and whether anything that was promised is
 * lost. It needs root, the built daemon, and `apt-get install -y --no-install-recommends patroni etcd-server haproxy`.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import pg from 'pg'
import type { Test } from 'tap'
import { apiOf } from '../test/support/api.ts'
import type { TestDaemon } from '../test/support/daemon.ts'
import { startDns } from '../test/support/dns.ts'
import { startHaproxy } from '../test/support/haproxy.ts'
import { createInbox } from '../test/support/mailbox.ts'
import { lookAtPromises, newNodesLoad, workOnNodes } from '../test/support/nodes-load.ts'
import { type PatroniMember, patroniTimes, startPatroni } from '../test/support/patroni.ts'
import { openDialog } from '../test/support/smtp-dialog.ts'
import { startTakingServer } from '../test/support/soak-load.ts'
import { until } from '../test/support/until.ts'
import { table } from './table.ts'

const { values: given, positionals } = parseArgs({
  allowPositionals: true,
  options: { members: { type: 'string', default: '3' } },
})
const isAsked = (what: string) => positionals.length === 0 || positionals.includes(what)
/** Longer than the leader's lock lasts without its Patroni. */
const awayMs = (patroniTimes.ttl + 5) * 1000
/** For so long the old primary writes beside the new one, before its Patroni sees that it leads no more. */
const twoPrimariesMs = 5_000
const goesOnMs = 120_000

const closing: (() => unknown)[] = []
const began = performance.now()
const seconds = (ms: number) => (ms / 1000).toFixed(1)
const say = (what: string) =>
  process.stdout.write(`${seconds(performance.now() - began).padStart(6)} ${what}\n`)
// What starts them for tests says by a test when they are to end, and a test has a time.
process.env.TAP_TIMEOUT = '0'
const { startNodes } = await import('../test/support/nodes.ts')
const t = { teardown: (end: () => unknown) => closing.push(end) } as unknown as Test
let isBroken = false
try {
  isBroken = await measure()
} finally {
  for (const close of closing.reverse()) await close()
}
process.exit(isBroken ? 1 : 0)

async function measure(): Promise<boolean> {
  const cluster = await startPatroni(Number(given.members))
  closing.push(() => cluster.stop())
  say(`Patroni: ${(await cluster.states()).join(', ')}`)
  const first = (await cluster.leader())!
  await askOnce(first.url('postgres'), 'create database mail')
  await askOnce(first.url('postgres'), 'create table written (id text primary key)')
  const server = await startTakingServer(t)
  const dns = await startDns({})
  closing.push(() => dns.close())
  dns.set('theirs.example', 'MX', [{ priority: 10, exchange: 'mx.theirs.example' }])
  dns.set('mx.theirs.example', 'A', ['127.0.0.3'])
  const database = `postgres://postgres@${await startHaproxy(t, cluster.members)}/mail`
  const nodes = await startNodes(t, 2, { dns: dns.server, mxPort: server.port, database })
  const [a, b] = nodes as [TestDaemon, TestDaemon]
  const ann = await createInbox(a, 'ann')
  const token = String((await b.ctl('key', 'create')).token)
  let asked: readonly TestDaemon[] = nodes
  let isOver = false
  const load = newNodesLoad({
    nodes: () => asked,
    token,
    inboxes: [ann],
    domains: ['theirs.example'],
    isOver: () => isOver,
  })
  const direct = watchWrites(cluster.members)
  const mails = watchGrowth(load.accepted)
  const sends = watchGrowth(load.sent)
  closing.push(() => {
    isOver = true
    for (const watch of [direct, mails, sends]) watch.stop()
  })
  const working = workOnNodes(load)
  const rows: string[][] = []
  const faults: string[] = []

  const health = async (one: TestDaemon) =>
    (await fetch(`${one.baseUrl}/health`).catch(() => undefined))?.status
  const leaderAfter = (old: PatroniMember) =>
    until(
      'another leader',
      async () => {
        const leader = await cluster.leader()
        return leader !== old && leader
      },
      goesOnMs,
    )
  const more = async () => {
    const [before, sentBefore] = [load.accepted.size, load.sent.size]
    const isMore = () => load.accepted.size >= before + 30 && load.sent.size >= sentBefore + 10
    await until('more', isMore, goesOnMs)
  }
  /** Does it, waits until all is as it was, and writes down for how long nothing was confirmed. */
  const phase = async (what: string, work: () => Promise<void>) => {
    if (!isAsked(what)) return
    await more()
    const [beganMs, taken] = [performance.now(), server.taken.length]
    const leader = await cluster.leader()
    say(`${what}: ${leader?.name} leads`)
    await work()
    await until(`a leader after ${what}`, () => cluster.leader(), goesOnMs)
    await until(
      'all nodes to be ready',
      async () => (await Promise.all(nodes.map(health))).every(one => one === 200),
      goesOnMs,
    )
    await more()
    const gaps = [direct, mails, sends].map(watch => seconds(watch.longestSince(beganMs)))
    await until('the cluster to be whole', cluster.isWhole, goesOnMs)
    rows.push([what, ...gaps, seconds(performance.now() - beganMs), String(server.taken.length - taken)])
    say(`${what}: over; ${(await cluster.states()).join(', ')}`)
  }

  /** What these nodes say for so long, and what of the load is confirmed meanwhile. */
  const lookAt = async (who: string, those: readonly TestDaemon[], forMs: number) => {
    const seen: string[] = []
    const [inBefore, sentBefore] = [load.accepted.size, load.sent.size]
    for (const beganMs = performance.now(); performance.now() - beganMs < forMs; await pause(500))
      for (const one of those) {
        const read = await apiOf(one.baseUrl, token)
          .get('/v1/inboxes')
          .catch(() => undefined)
        seen.push(`${await health(one)}/${read?.status}`)
      }
    say(
      `${who}, /health and a list: ${seen.join(' ')}; ${load.accepted.size - inBefore} mails and ${load.sent.size - sentBefore} sends confirmed`,
    )
  }

  await phase('kill', async () => {
    const leader = (await cluster.leader())!
    await leader.kill()
    const next = await until('another leader', () => cluster.leader(), goesOnMs)
    say(`${next.name} leads`)
    const logged = leader.log().length
    leader.start()
    await until('it to follow', cluster.isWhole, goesOnMs)
    say(`${leader.name} is back ${returnOf(leader.log().slice(logged))}`)
  })

  await phase('switchover', async () => {
    await cluster.switchover((await cluster.leader())!)
  })

  await phase('etcd', async () => {
    await cluster.stopEtcd()
    const isOut = async () => (await Promise.all(nodes.map(health))).every(one => one === 503)
    await until('both nodes to say that they are not ready', isOut, goesOnMs)
    const { status, body } = await apiOf(a.baseUrl, token).get('/v1/inboxes')
    const mail = await mailAnswer(a.smtpPort, ann.address)
    say(`without etcd: API ${status} ${body.error} (${body.message}); mail: ${mail}`)
    if (status !== 503 || !mail.startsWith('451')) faults.push(`it was answered ${status} and ${mail}`)
    const [inBefore, sentBefore] = [load.accepted.size, load.sent.size]
    await pause(awayMs)
    if (load.accepted.size > inBefore || load.sent.size > sentBefore)
      faults.push('something was confirmed while nobody led')
    await cluster.startEtcd()
  })

  await phase('pause', async () => {
    const old = (await cluster.leader())!
    // The other node has no request of the load when it is stopped, but all that it does by itself.
    asked = [a]
    await more()
    const pinned = await pinnedWriter(old)
    b.process.kill('SIGSTOP')
    await old.freeze()
    const next = await leaderAfter(old)
    say(`${old.name} and one node stand still; ${next.name} leads`)
    await more()
    // What it is asked now it finds when it goes on, and the other node has no more to answer.
    asked = [b]
    await until('nothing to be confirmed', () => Math.min(mails.quietMs(), sends.quietMs()) > 1_000, goesOnMs)
    const goOnMs = performance.now()
    const troublesBefore = b.troubles().length
    // PostgreSQL first: its Patroni would demote it at once.
    pinned.begin()
    old.thawPostgres()
    b.process.kill('SIGCONT')
    const isPrimary = primaryFor(old)
    await lookAt('the node that stood still beside it', [b], twoPrimariesMs)
    old.thaw()
    asked = nodes
    const { confirmed, ended } = await pinned.end()
    const lastMs = await isPrimary
    say(
      `${old.name} took itself for the primary for ${seconds(lastMs - goOnMs)} s beside ${next.name}; it confirmed ${confirmed.length} writes over a connection of before (${ended})`,
    )
    direct.confirmed.push(...confirmed)
    await until('it to be ready', async () => (await health(b)) === 200, goesOnMs)
    say(
      `the node: ${b
        .troubles()
        .slice(troublesBefore)
        .map(({ msg }) => msg)
        .join('; ')}`,
    )
  })

  await phase('alone', async () => {
    const old = (await cluster.leader())!
    const pinned = await pinnedWriter(old)
    await old.freezePatroni()
    const next = await leaderAfter(old)
    say(`the Patroni of ${old.name} stands still; ${next.name} leads, too`)
    pinned.begin()
    await lookAt('both nodes', nodes, awayMs)
    const isPrimary = primaryFor(old)
    old.thaw()
    const { confirmed, ended } = await pinned.end()
    await isPrimary
    direct.confirmed.push(...confirmed)
    say(`${old.name} confirmed ${confirmed.length} writes beside ${next.name} (${ended})`)
  })

  isOver = true
  await working
  for (const watch of [direct, mails, sends]) watch.stop()
  const leader = (await cluster.leader())!
  const { rows: found } = await askOnce(leader.url('postgres'), 'select id from written')
  const ids = new Set(found.map(({ id }) => id))
  const lost = direct.confirmed.filter(id => !ids.has(id))
  const { broken, doubles, figures } = await lookAtPromises(load, server.taken, goesOnMs)
  const attempts = server.taken.map((id, at) => ({ id, atMs: server.takenAtMs[at]! }))
  for (const id of doubles)
    say(
      `${id} was taken at ${attempts
        .filter(one => one.id === id)
        .map(({ atMs }) => seconds(atMs - began))
        .join(' and ')}`,
    )
  process.stdout.write(
    `\n${table(['seconds without', 'a write to the database', 'a 250', 'a send', 'until all was as before', 'mails carried'], rows)}\n\n`,
  )
  say(`${direct.confirmed.length} writes to the database itself, ${lost.length} lost`)
  say(figures)
  for (const one of nodes) {
    const fatal = one.log().filter(({ level }) => level === 'fatal')
    if (fatal.length > 0) faults.push(JSON.stringify(fatal))
    const code = await one.end('SIGTERM')
    if (code !== 0) faults.push(`a node ended with ${code}`)
  }
  const all = [...broken, ...faults, ...(lost.length > 0 ? [`${lost.length} writes lost`] : [])]
  say(all.length === 0 ? 'nothing that was promised is lost' : `BROKEN:\n${all.slice(0, 50).join('\n')}`)
  return all.length > 0
}

async function askOnce(url: string, statement: string, ...values: string[]): Promise<pg.QueryResult> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: 1_000,
    query_timeout: 2_000,
  })
  client.on('error', () => {})
  try {
    await client.connect()
    return await client.query(statement, values)
  } finally {
    void client.end().catch(() => {})
  }
}

/** Writes to whoever is the primary, over and over, beside the nodes: what Patroni itself keeps, and for how long it takes nothing. */
function watchWrites(members: readonly PatroniMember[]) {
  const confirmed: string[] = []
  let isOver = false
  const write = async () => {
    for (let at = 0; !isOver; await pause(100)) {
      const id = randomUUID()
      const { url } = members[at % members.length]!
      const isDone = await askOnce(url('postgres'), 'insert into written values ($1)', id).catch(
        () => undefined,
      )
      if (isDone) confirmed.push(id)
      else at++
    }
  }
  const growth = watchGrowth({
    get size() {
      return confirmed.length
    },
  })
  void write()
  return {
    ...growth,
    confirmed,
    stop() {
      isOver = true
      growth.stop()
    },
  }
}

/** When something grew, looked at so often. */
function watchGrowth(set: { readonly size: number }) {
  const atMs: number[] = [performance.now()]
  let before = set.size
  const timer = setInterval(() => {
    if (set.size > before) atMs.push(performance.now())
    before = set.size
  }, 25)
  return {
    /** How long it did not at the longest, until now. */
    longestSince(sinceMs: number): number {
      const all = [...atMs.filter(ms => ms > sinceMs), performance.now()]
      return Math.max(...all.map((ms, n) => ms - (all[n - 1] ?? sinceMs)))
    },
    quietMs: () => performance.now() - atMs.at(-1)!,
    stop: () => clearInterval(timer),
  }
}

/** Who is connected to a primary before it stands still, and writes to it afterwards. */
async function pinnedWriter({ url }: PatroniMember) {
  const client = new pg.Client({ connectionString: url('postgres') })
  client.on('error', () => {})
  await client.connect()
  const confirmed: string[] = []
  let ended: Promise<string> | undefined
  return {
    begin() {
      ended = (async () => {
        for (;;) {
          const id = randomUUID()
          await client.query('insert into written values ($1)', [id])
          confirmed.push(id)
        }
      })().catch(error => String(error.message))
    },
    end: async () => ({ confirmed, ended: await ended }),
  }
}

/** Until when it says that it is a primary. */
async function primaryFor({ url }: PatroniMember): Promise<number> {
  for (let lastMs = performance.now(); ; await pause(100)) {
    const said = await askOnce(url('postgres'), 'select pg_is_in_recovery() as standby').catch(
      () => undefined,
    )
    if (said === undefined || said.rows[0].standby) return lastMs
    lastMs = performance.now()
  }
}

/** How a member that led before became one that follows, of what it says. */
function returnOf(log: string): string {
  if (/running pg_rewind/.test(log)) return 'by pg_rewind'
  return /Removing data directory/.test(log) ? 'with new data' : 'as it was'
}

async function mailAnswer(port: number, to: string): Promise<string> {
  const dialog = await openDialog(port)
  try {
    await dialog.reply()
    for (const line of ['EHLO client.example', 'MAIL FROM:<bob@example.net>', `RCPT TO:<${to}>`]) {
      const { code, text } = await dialog.say(line)
      if (code !== 250) return text
    }
    return '250'
  } finally {
    dialog.vanish()
  }
}
