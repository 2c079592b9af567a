/**
 * `node bench/webhooks.ts`: how soon and how many webhooks are called, by a daemon in this process; what takes them is a
 * process of its own on the same cores. From the final dot of a message to the first byte of its call at 50 messages a
 * second; 2,000 events a second to 100 endpoints; the same with one that takes calls and never answers.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createConnection } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { createIds } from '../lib/base/ids.ts'
import { createLog } from '../lib/base/log.ts'
import { systemClock } from '../lib/base/time.ts'
import { parseConfig } from '../lib/config/load.ts'
import { changeInbox, createInbox } from '../lib/core/account/inboxes.ts'
import { operator } from '../lib/core/app/caller.ts'
import { recordEvent } from '../lib/core/events/record.ts'
import { type Daemon, startDaemon } from '../lib/daemon.ts'
import type { Inbox } from '../lib/model/inbox.ts'
import { percentile } from './percentile.ts'
import { table } from './table.ts'
import type { Taken } from './webhook-sink.ts'

const endpoints = 100
const perSecond = 2000
const seconds = 20
const dir = mkdtempSync(join(tmpdir(), 'mailboxd-bench-'))
const now = () => performance.timeOrigin + performance.now()

interface Sink {
  readonly port: number
  take(): Promise<Taken[]>
  stop(): void
}

async function startSink(dead: number): Promise<Sink> {
  const child: ChildProcess = fork(join(import.meta.dirname, 'webhook-sink.ts'), [
    String(endpoints),
    String(dead),
  ])
  const [{ port }] = (await once(child, 'message')) as [{ port: number }]
  return {
    port,
    async take() {
      child.send({ type: 'take' })
      const [{ taken }] = (await once(child, 'message')) as [{ taken: Taken[] }]
      return taken
    },
    stop: () => void child.kill('SIGKILL'),
  }
}

/** A daemon with one inbox for each endpoint. */
async function start(name: string, sink: Sink, count: number): Promise<{ daemon: Daemon; inboxes: Inbox[] }> {
  const config = parseConfig(
    `hostname = "mx.mailboxd.test"
account_domain = "mailboxd.test"
data_dir = "${join(dir, name)}"
[smtp]
listen = ["127.0.0.1:0"]
[http]
listen = ["127.0.0.1:0"]
[dns]
servers = ["127.0.0.1:9"]
[authentication]
check = false
[webhook]
allow_http = true
allow_networks = ["127.0.0.0/8"]
`,
    'bench',
  )
  const daemon = await startDaemon({
    config,
    clock: systemClock,
    ids: createIds(systemClock),
    log: createLog('error'),
    random: Math.random,
    chosenBy: setting => setting,
    sockets: { smtp: [], submission: [], submissions: [], http: [] },
  })
  const inboxes: Inbox[] = []
  for (let n = 1; n <= count; n++) {
    const inbox = await createInbox(daemon.app, operator, { mailboxName: `bench-${n}` })
    const webhookUrl = `http://127.0.1.${n}:${sink.port}/hook`
    await changeInbox(daemon.app, operator, inbox.id, { webhookUrl })
    inboxes.push(inbox)
  }
  return { daemon, inboxes }
}

/** Sends messages at a steady rate over one connection; gives when the final dot of each was sent, by subject. */
async function sendSteadily(
  daemon: Daemon,
  to: string,
  rate: number,
  count: number,
): Promise<Map<string, number>> {
  const socket = createConnection({ host: '127.0.0.1', port: daemon.smtp[0]!.port, noDelay: true })
  const lines = createInterface({ input: socket })[Symbol.asyncIterator]()
  const reply = async () => {
    for (;;) {
      const { value } = await lines.next()
      if (value?.[3] !== '-') return
    }
  }
  const ask = (line: string) => {
    socket.write(`${line}\r\n`)
    return reply()
  }
  await reply()
  await ask('EHLO client.test')
  const dots = new Map<string, number>()
  const began = now()
  for (let n = 0; n < count; n++) {
    const subject = `bench ${n}`
    await ask('MAIL FROM:<load@client.test>')
    await ask(`RCPT TO:<${to}>`)
    await ask('DATA')
    socket.write(
      `From: load@client.test\r\nTo: ${to}\r\nSubject: ${subject}\r\n\r\n${'A line of text.\r\n'.repeat(200)}`,
    )
    await pause(Math.max(0, began + (n * 1000) / rate - now()))
    dots.set(subject, now())
    await ask('.')
  }
  await ask('QUIT')
  socket.destroy()
  return dots
}

async function measureLatency(): Promise<number[]> {
  const sink = await startSink(0)
  const { daemon, inboxes } = await start('latency', sink, 1)
  try {
    await sendSteadily(daemon, inboxes[0]!.address, 50, 100)
    await pause(500)
    await sink.take()
    const dots = await sendSteadily(daemon, inboxes[0]!.address, 50, 50 * seconds)
    await pause(1000)
    return (await sink.take()).map(([, , subject, at]) => at - dots.get(subject)!)
  } finally {
    await daemon.stop()
    sink.stop()
  }
}

interface Throughput {
  readonly taken: number
  readonly seconds: number
  readonly times: readonly number[]
  readonly cpuSeconds: number
}

/** Events are recorded a hundred at a time, twenty times a second; how long each took to its first byte at a live endpoint. */
async function measureThroughput(name: string, dead: number): Promise<Throughput> {
  const sink = await startSink(dead)
  const { daemon, inboxes } = await start(name, sink, endpoints)
  const { app } = daemon
  const recordedAt = new Map<string, number>()
  const wanted = perSecond * seconds * ((endpoints - dead) / endpoints)
  const taken: Taken[] = []
  try {
    const began = now()
    const cpu = process.cpuUsage()
    for (let round = 0; round < (perSecond / 100) * seconds; round++) {
      await pause(Math.max(0, began + (round * 100_000) / perSecond - now()))
      await app.store.write(async db => {
        for (let n = 0; n < 100; n++) {
          const inbox = inboxes[n % inboxes.length]!
          const subject = { podId: inbox.podId, inboxId: inbox.id, threadId: null, messageId: null }
          await recordEvent(app, db, 'message.delivered', subject, { recipient: `${round}-${n}@client.test` })
        }
      })
      const at = now()
      for (const id of await newestEvents(daemon, 100)) recordedAt.set(id, at)
    }
    while (taken.length < wanted && now() - began < (seconds + 60) * 1000) {
      taken.push(...(await sink.take()))
      await pause(100)
    }
    const { user, system } = process.cpuUsage(cpu)
    const last = Math.max(...taken.map(([, , , at]) => at))
    return {
      taken: taken.length,
      seconds: (last - began) / 1000,
      times: taken.map(([, id, , at]) => at - recordedAt.get(id)!),
      cpuSeconds: (user + system) / 1e6,
    }
  } finally {
    sink.stop()
    await daemon.stop()
  }
}

async function newestEvents({ app }: Daemon, count: number): Promise<string[]> {
  const rows = await app.store.read
    .selectFrom('event')
    .select('id')
    .orderBy('id', 'desc')
    .limit(count)
    .execute()
  return rows.map(row => row.id)
}

const figures = (times: readonly number[]) => [
  percentile(times, 50).toFixed(1),
  percentile(times, 99).toFixed(1),
]

try {
  const latency = await measureLatency()
  const all = await measureThroughput('all', 0)
  const dead = await measureThroughput('dead', 1)
  const row = (name: string, one: Throughput) => [
    name,
    (one.taken / one.seconds).toFixed(0),
    ...figures(one.times),
    one.cpuSeconds.toFixed(1),
  ]
  console.log(
    table(
      ['', 'calls/s', 'p50 ms', 'p99 ms', 'CPU s'],
      [
        ['final dot to call, 50 messages/s', '50', ...figures(latency), ''],
        row(`${perSecond} events/s to ${endpoints} endpoints`, all),
        row('the same, one of them dead', dead),
      ],
    ),
  )
} finally {
  rmSync(dir, { recursive: true, force: true })
}
