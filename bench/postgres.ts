/**
 * `bin/node bench/postgres.ts [--rounds N] [--messages N] [--texts] [WORD…]`: one node with its rows on PostgreSQL beside one with them in a file of
 * SQLite, by turns, the load generator and the database on the same cores: mail of 4 kB over kept and own connections, and sends
 * over the API. Of PostgreSQL also what a message takes there: statements, commits, transactions undone, deadlocks, and round trips
 * (in a run of their own, through a proxy that counts). WORD: `postgres` or `sqlite`, one of them alone.
 */
import { parseArgs } from 'node:util'
import pg from 'pg'
import { freePort } from '../test/support/ports.ts'
import { databaseUrl, type Postgres, startPostgres } from '../test/support/postgres.ts'
import { startSmtpSink } from '../test/support/smtp-sink.ts'
import { source } from './inbound.ts'
import { mediansOf } from './medians.ts'
import { sendAll } from './outbound.ts'
import { watchProcesses } from './process-figures.ts'
import { startCountingProxy } from './subject/counting-proxy.ts'
import { type MailboxdSubject, startMailboxdSubject } from './subject/mailboxd.ts'
import { table } from './table.ts'

/** What one message took, on the way of one load. */
interface Figures {
  readonly perSecond: number
  readonly nodeCpuMs: number
  readonly mainCpuMs: number
  readonly databaseCpuMs: number
  readonly statements: number
  readonly commits: number
  readonly undone: number
  readonly deadlocks: number
  /** How many connections waited for another's lock, on average. */
  readonly waiting: number
}

type Load = (subject: MailboxdSubject, run: string, count: number) => Promise<void>

const loads: Readonly<Record<string, Load>> = {
  'inbound, kept': async (subject, _run, count) => void (await source(subject, count, 4096, ['-d'])),
  'inbound, own': async (subject, _run, count) => void (await source(subject, count, 4096, [])),
  sends: (subject, run, count) => sendAll(subject, run, count),
}

/** As a server has them that keeps what it says it has; and what it counts by. */
const durable = [
  'shared_buffers=256MB',
  'synchronous_commit=on',
  'max_wal_size=2GB',
  'shared_preload_libraries=pg_stat_statements',
]

/** What the server has counted until now, and how many connections wait for a lock. */
async function countsOf(client: pg.Pool) {
  const { rows } = await client.query(`select
    (select coalesce(sum(calls), 0)::float8 from pg_stat_statements join pg_database on dbid = pg_database.oid where datname = 'bench') as statements,
    xact_commit::float8 as commits, xact_rollback::float8 as undone, deadlocks::float8
    from pg_stat_database where datname = 'bench'`)
  return rows[0] as { statements: number; commits: number; undone: number; deadlocks: number }
}

const server = await startPostgres(durable)
const admin = new pg.Pool({ connectionString: server.url, max: 2 })
await admin.query('create extension pg_stat_statements')

/** Has `work` done with a daemon on an empty database: of SQLite, or of PostgreSQL under this URL. */
async function withNode<T>(
  database: string | undefined,
  work: (subject: MailboxdSubject) => Promise<T>,
): Promise<T> {
  const address = '127.0.0.2'
  const sink = await startSmtpSink(address, await freePort(address))
  if (database !== undefined) {
    await admin.query('drop database if exists bench (force)')
    await admin.query('create database bench')
  }
  try {
    const subject = await startMailboxdSubject(sink.port, { database })
    try {
      return await work(subject)
    } finally {
      await subject.stop()
    }
  } finally {
    await sink.stop()
  }
}

async function measure(
  subject: MailboxdSubject,
  load: Load,
  count: number,
  database: Postgres | undefined,
): Promise<Figures> {
  await load(subject, 'warm', Math.max(20, Math.ceil(count / 5)))
  await quiet(database)
  const before = await countsOf(admin)
  if (values.texts) await admin.query('select pg_stat_statements_reset()')
  const node = watchProcesses(subject.pid)
  const other = database && watchProcesses(server.pid)
  let looks = 0
  let waits = 0
  const looking = setInterval(async () => {
    if (!database) return
    const { rows } = await admin.query(
      `select count(*)::int as count from pg_stat_activity where datname = 'bench' and wait_event_type = 'Lock'`,
    )
    looks++
    waits += rows[0].count
  }, 50)
  const startedAt = performance.now()
  await load(subject, 'load', count)
  const seconds = (performance.now() - startedAt) / 1000
  clearInterval(looking)
  // What is left to be done behind it (placing, indexing, carrying) belongs to the message as well.
  await quiet(database)
  const ended = node.stop()
  const after = await countsOf(admin)
  if (database && values.texts) await printTexts(count)
  const each = (name: keyof typeof after) => (database ? (after[name] - before[name]) / count : 0)
  return {
    perSecond: count / seconds,
    nodeCpuMs: (ended.cpuSeconds * 1000) / count,
    mainCpuMs: (ended.mainThreadCpuSeconds * 1000) / count,
    databaseCpuMs: other ? (other.stop().cpuSeconds * 1000) / count : 0,
    statements: each('statements'),
    commits: each('commits'),
    undone: each('undone'),
    deadlocks: each('deadlocks'),
    waiting: looks === 0 ? 0 : waits / looks,
  }
}

/** Prints what was asked most, for each message how often, how many milliseconds it took, and its text. */
async function printTexts(count: number): Promise<void> {
  const { rows } = await admin.query(
    `select calls::float8, total_exec_time::float8 as ms, left(regexp_replace(query, '\\s+', ' ', 'g'), 150) as text from pg_stat_statements
     join pg_database on dbid = pg_database.oid where datname = 'bench' order by calls desc limit 40`,
  )
  for (const { calls, ms, text } of rows)
    console.log(`${(calls / count).toFixed(2)}  ${(ms / count).toFixed(3)}  ${text}`)
}

/** Waits until the queue is empty and nothing more is written: what each message brings about is counted with it. */
async function quiet(database: Postgres | undefined): Promise<void> {
  if (!database) return void (await new Promise(resolve => setTimeout(resolve, 2000)))
  const client = new pg.Client({ connectionString: databaseUrl(database, 'bench') })
  await client.connect()
  try {
    for (let isBusy = true; isBusy; ) {
      await new Promise(resolve => setTimeout(resolve, 300))
      const { rows } = await client.query(
        `select exists (select 1 from "queueEntry") or exists (select 1 from "unplaced") or exists (select 1 from "unindexedBody") as busy`,
      )
      isBusy = rows[0].busy
    }
  } finally {
    await client.end()
  }
}

/** Round trips of a message, by a proxy. */
async function tripsOf(load: Load, count: number): Promise<number> {
  const url = new URL(databaseUrl(server, 'bench'))
  const proxy = await startCountingProxy({ host: url.hostname, port: Number(url.port) })
  url.port = String(proxy.port)
  try {
    return await withNode(url.href, async subject => {
      await load(subject, 'warm', 100)
      await quiet(server)
      const before = proxy.trips()
      await load(subject, 'load', count)
      const during = proxy.trips() - before
      return during / count
    })
  } finally {
    proxy.stop()
  }
}

const { values, positionals } = parseArgs({
  options: {
    texts: { type: 'boolean' },
    rounds: { type: 'string', default: '3' },
    messages: { type: 'string', default: '3000' },
  },
  allowPositionals: true,
})
const count = Number(values.messages)
const wanted = ['sqlite', 'postgres'].filter(name => positionals.length === 0 || positionals.includes(name))
const rounds: Record<string, Record<string, Figures>>[] = []
try {
  for (let round = 1; round <= Number(values.rounds); round++) {
    const row: Record<string, Record<string, Figures>> = {}
    for (const name of wanted) {
      process.stderr.write(`round ${round}: ${name}\n`)
      const database = name === 'postgres' ? server : undefined
      row[name] = await withNode(database && databaseUrl(server, 'bench'), async subject => {
        const of: Record<string, Figures> = {}
        for (const [way, load] of Object.entries(loads))
          of[way] = await measure(
            subject,
            load,
            way === 'inbound, kept' ? count : Math.ceil(count / 3),
            database,
          )
        return of
      })
    }
    rounds.push(row)
  }
  const figures = mediansOf(rounds)
  const head = [
    'a message',
    'rows',
    'per s',
    'to SQLite',
    'node ms',
    'main ms',
    'db ms',
    'statements',
    'commits',
    'undone',
    'deadlocks',
    'waiting',
  ]
  const rows = Object.keys(loads).flatMap(way =>
    wanted.map(name => {
      const of = figures[name]![way]!
      const base = figures.sqlite?.[way]?.perSecond
      return [
        way,
        name,
        of.perSecond.toFixed(0),
        base === undefined ? '' : (of.perSecond / base).toFixed(2),
        of.nodeCpuMs.toFixed(2),
        of.mainCpuMs.toFixed(2),
        of.databaseCpuMs.toFixed(2),
        of.statements.toFixed(1),
        of.commits.toFixed(2),
        of.undone.toFixed(2),
        of.deadlocks.toFixed(3),
        of.waiting.toFixed(2),
      ]
    }),
  )
  console.log(table(head, rows))
  if (wanted.includes('postgres'))
    for (const [way, load] of Object.entries(loads))
      console.log(
        `round trips of a message, ${way}: ${(await tripsOf(load, Math.min(600, count))).toFixed(1)}`,
      )
} finally {
  await admin.end()
  await server.stop()
}
