/**
 * `bin/node bench/nodes.ts [stored|webhooks] [--messages N] [--inboxes N] [--calls N]`: what a million messages in a thousand inboxes cost a node
 * on PostgreSQL (lists, search, one message, mail that comes, beside the same node when it has none), and how soon 10,000 webhooks that wait are
 * told by three nodes on one PostgreSQL, how many by each, and none twice. All is on the same cores. It takes the built daemon.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import pg from 'pg'
import type { Test } from 'tap'
import { apiOf } from '../test/support/api.ts'
import { databaseUrl, migratedDatabase, startPostgres } from '../test/support/postgres.ts'
import { greetedDialog } from '../test/support/smtp-dialog.ts'
import { until } from '../test/support/until.ts'
import { source } from './inbound.ts'
import { percentile } from './percentile.ts'
import { watchProcesses } from './process-figures.ts'
import { storeMessagesOnServer } from './stored-server.ts'
import { type MailboxdSubject, startMailboxdSubject } from './subject/mailboxd.ts'
import { table } from './table.ts'
import type { Taken } from './webhook-sink.ts'

const { values: given, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    messages: { type: 'string', default: '1000000' },
    inboxes: { type: 'string', default: '1000' },
    calls: { type: 'string', default: '10000' },
  },
})
const isAsked = (what: string) => positionals.length === 0 || positionals.includes(what)
const closing: (() => unknown)[] = []
const server = await startPostgres(['shared_buffers=512MB', 'max_wal_size=4GB'])
closing.push(() => server.stop())
try {
  if (isAsked('stored')) await measureStored(Number(given.messages), Number(given.inboxes))
  if (isAsked('webhooks')) await measureWebhooks(Number(given.calls))
} finally {
  for (const close of closing.reverse()) await close()
}

async function createDatabase(name: string): Promise<string> {
  const client = new pg.Client({ connectionString: server.url })
  await client.connect()
  await client.query(`create database ${name} template ${migratedDatabase}`)
  await client.end()
  return databaseUrl(server, name)
}

async function measureStored(messages: number, inboxes: number): Promise<void> {
  const database = await createDatabase('stored')
  const dataDir = mkdtempSync(join(tmpdir(), 'mailboxd-bench-'))
  closing.push(() => rmSync(dataDir, { recursive: true, force: true }))
  const rows: string[][] = []
  const measure = async (what: string) => {
    const subject = await startMailboxdSubject(9, { database, dataDir })
    try {
      const progress = (step: string) => process.stderr.write(`${what}: ${step}\n`)
      progress('mail')
      await source(subject, 500, 4096, ['-d'])
      const mails = 3000
      const cpu = watchCpu(subject.pid, mails)
      const began = performance.now()
      await source(subject, mails, 4096, ['-d'])
      const perSecond = mails / ((performance.now() - began) / 1000)
      rows.push([`${what}: mail in`, ...cpu(), '', perSecond.toFixed(0)])
      // Behind it the search index follows.
      await until('it to be indexed', () => isIndexed(database), 120_000)
      for (const [name, paths] of Object.entries(await pathsOf(subject))) {
        progress(name)
        await askAll(subject, paths, 100)
        const cpu = watchCpu(subject.pid, 400)
        const times = await askAll(subject, paths, 400)
        rows.push([`${what}: ${name}`, ...cpu(), percentile(times, 50).toFixed(1), ''])
      }
    } finally {
      await subject.stop()
    }
  }
  await measure('empty')
  const began = performance.now()
  await storeMessagesOnServer(database, messages, inboxes)
  process.stderr.write(`filled in ${((performance.now() - began) / 1000).toFixed(0)} s\n`)
  await measure(`${messages} messages`)
  process.stdout.write(
    `${table(['', 'CPU ms of the node', 'of the database', 'p50 ms', 'a second'], rows)}\n`,
  )
}

/** Gives the CPU time that each of `count` takes from now on, of a daemon and of the server. */
function watchCpu(pid: number, count: number): () => [string, string] {
  const [node, database] = [watchProcesses(pid), watchProcesses(server.pid)]
  const each = ({ cpuSeconds }: { readonly cpuSeconds: number }) => ((cpuSeconds * 1000) / count).toFixed(2)
  return () => [each(node.stop()), each(database.stop())]
}

async function isIndexed(database: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: database })
  await client.connect()
  const { rowCount } = await client.query('select 1 from "unindexedBody" limit 1')
  await client.end()
  return rowCount === 0
}

/** Asks for `count` of these, four at a time; gives how long each took, in milliseconds. */
async function askAll({ api, token }: MailboxdSubject, paths: string[], count: number): Promise<number[]> {
  const { get } = apiOf(api, token)
  const times: number[] = []
  let asked = 0
  const ask = async () => {
    while (asked < count) {
      const path = paths[asked++ % paths.length]!
      const began = performance.now()
      const { status } = await get(path)
      if (status !== 200) throw new Error(`${path} was answered ${status}`)
      times.push(performance.now() - began)
    }
  }
  await Promise.all(Array.from({ length: 4 }, ask))
  return times
}

/** What is asked: of the inboxes that were filled where there are any. */
async function pathsOf({ api, token, inboxId }: MailboxdSubject): Promise<Record<string, string[]>> {
  const { get } = apiOf(api, token)
  const { data } = (await get('/v1/inboxes?limit=100')).body as { data: { id: string }[] }
  const all = data.map(one => one.id).filter(one => one !== inboxId)
  const inboxes = all.length > 1 ? all : [inboxId]
  const found = await Promise.all(
    inboxes.slice(0, 20).map(async one => (await get(`/v1/inboxes/${one}/messages?limit=5`)).body.data),
  )
  return {
    'list of an inbox': inboxes.map(one => `/v1/inboxes/${one}/messages?limit=20`),
    'search in an inbox': inboxes.map(one => `/v1/inboxes/${one}/messages?q=marzipan&limit=20`),
    'search for what is rare in all': ['/v1/messages?q=marzipan&limit=20'],
    'search for what is in all': ['/v1/messages?q=figures&limit=20'],
    'one message': found.flat().map((one: { id: string }) => `/v1/messages/${one.id}`),
  }
}

async function measureWebhooks(calls: number): Promise<void> {
  const endpoints = 100
  const child: ChildProcess = fork(join(import.meta.dirname, 'webhook-sink.ts'), [String(endpoints), '0'])
  closing.push(() => child.kill('SIGKILL'))
  const [{ port }] = (await once(child, 'message')) as [{ port: number }]
  const taken: Taken[] = []
  const takeMore = async () => {
    child.send({ type: 'take' })
    const [answer] = (await once(child, 'message')) as [{ taken: Taken[] }]
    taken.push(...answer.taken)
    return taken.length
  }
  // What starts them for tests says by a test when they are to end, and a test has a time.
  process.env.TAP_TIMEOUT = '0'
  const { startNodes } = await import('../test/support/nodes.ts')
  const t = { teardown: (end: () => unknown) => closing.push(end) } as unknown as Test
  const toml = '[webhook]\nallow_http = true\nallow_networks = ["127.0.0.0/8"]\n'
  const nodes = await startNodes(t, 3, { database: await createDatabase('calls'), toml })
  const [first] = nodes
  const { post } = apiOf(first!.baseUrl, String((await first!.ctl('key', 'create')).token))
  const addresses: string[] = []
  for (let n = 1; n <= endpoints; n++) {
    const { body } = await post('/v1/inboxes', { webhookUrl: `http://127.0.1.${n}:${port}/hook` })
    addresses.push(String(body.address))
  }
  const ids = nodes.map(({ dataDir }) => readFileSync(join(dataDir, 'node'), 'utf8').trim())
  const health = () => Promise.all(nodes.map(async one => (await fetch(`${one.baseUrl}/health`)).status))
  for (const id of ids) await first!.ctl('node', 'drain', id)
  await until('all to drain', async () => (await health()).every(status => status === 503), 60_000)
  for (let n = 0; n < calls / endpoints; n++) {
    const dialog = await greetedDialog(nodes[n % nodes.length]!.smtpPort)
    await dialog.envelope('bob@example.net', ...addresses)
    await dialog.data(`From: bob@example.net\r\nSubject: ${n}\r\n\r\nhello\r\n`)
    dialog.end()
  }
  await takeMore()
  const early = taken.length
  const began = performance.timeOrigin + performance.now()
  for (const id of ids) await first!.ctl('node', 'resume', id)
  await until('all calls', async () => (await takeMore()) >= calls, 600_000)
  const events = new Set(taken.map(([, eventId]) => eventId))
  const at = taken.map(([, , , when]) => when - began).sort((one, other) => one - other)
  const lastMs = at.at(-1)!
  const each = nodes.map(one => one.log().filter(({ msg }) => msg === 'webhook called').length)
  const rows = [
    [
      String(calls),
      String(early),
      (lastMs / 1000).toFixed(1),
      (calls / ((lastMs - at[0]!) / 1000)).toFixed(0),
      each.join(', '),
      String(taken.length - events.size),
    ],
  ]
  process.stdout.write(
    `${table(['waited', 'told early', 'all told after s', 'a second', 'by each node', 'twice'], rows)}\n`,
  )
}
