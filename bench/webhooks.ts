/**
 * How fast events are told: a backlog for 100 endpoints is drained, then mails come one at a time and the time from the
 * final dot to the first byte of the webhook's call is taken. `bin/node bench/webhooks.ts [EVENTS]`
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, createConnection } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { systemClock } from '../lib/base/clock.ts'
import { systemIds } from '../lib/base/ids.ts'
import { createLog } from '../lib/base/log.ts'
import { parseConfig } from '../lib/config/load.ts'
import { operator } from '../lib/core/caller.ts'
import { recordEvent } from '../lib/core/events.ts'
import { createInbox } from '../lib/core/inboxes.ts'
import { openApp } from '../lib/core/open-app.ts'
import type { Inbox } from '../lib/model/inbox.ts'
import { freePort, greeting } from '../test/support/ports.ts'
import { insertMessageRow, insertThreadRow } from '../test/support/rows.ts'
import { until } from '../test/support/until.ts'
import { percentile } from './percentile.ts'
import { watchProcesses } from './process-figures.ts'
import { table } from './table.ts'

const count = Number(process.argv[2] ?? 20_000)
const endpoints = 100
const mails = 300
const mailPauseMs = 20
const host = '127.0.0.1'
const dir = mkdtempSync(join(tmpdir(), 'mailboxd-bench-'))
const smtpPort = await freePort(host)
const configPath = join(dir, 'mailboxd.toml')
const configText = `hostname = "mx.mailboxd.test"
account_domain = "mailboxd.test"
data_dir = "${join(dir, 'data')}"
[smtp]
listen = ["${host}:${smtpPort}"]
[http]
listen = ["${host}:0"]
[dns]
servers = ["${host}:9"]
[authentication]
check = false
[webhook]
allow_http = true
allow_networks = ["127.0.0.0/8"]
`

/** Calls so far, and when the head of the last one was here. */
const calls = { count: 0, at: 0 }
const servers = Array.from({ length: endpoints }, () =>
  createServer((request, response) => {
    calls.at = performance.now()
    request.resume().on('end', () => {
      calls.count++
      response.end()
    })
  }).listen(0, host),
)
await Promise.all(servers.map(server => server.listening || once(server, 'listening')))
try {
  writeFileSync(configPath, configText)
  const address = await install()
  const log = openSync(join(dir, 'log'), 'a')
  const program = fileURLToPath(new URL('../bin/mailboxd.ts', import.meta.url))
  const daemon = spawn(process.execPath, [program, '--config', configPath], {
    stdio: ['ignore', log, log],
  })
  try {
    await until('the first call', () => calls.count > 0)
    const watch = watchProcesses(daemon.pid ?? 0)
    const startedAt = performance.now()
    const before = calls.count
    await until('all calls', () => calls.count >= count, 300_000)
    const seconds = (performance.now() - startedAt) / 1000
    const load = watch.stop()
    const { accepted, called } = await mailTimes(address)
    const head = ['events', 'told/s', 'CPU s', 'RSS MB', 'dot→250 p50 ms', 'dot→call p50 ms', 'p99 ms']
    const figures = [
      (count - before) / seconds,
      load.cpuSeconds,
      load.rssBytes / 1e6,
      percentile(accepted, 50),
      percentile(called, 50),
      percentile(called, 99),
    ]
    console.log(table(head, [[String(count), ...figures.map(one => one.toFixed(1))]]))
  } finally {
    daemon.kill('SIGTERM')
    await once(daemon, 'exit')
  }
} finally {
  for (const server of servers) {
    server.closeAllConnections()
    server.close()
  }
  rmSync(dir, { recursive: true, force: true })
}

/** An inbox for each endpoint with its share of the events, each about a message of 4 kB; gives the address of one. */
async function install(): Promise<string> {
  const { app } = await openApp({
    config: parseConfig(configText, 'bench'),
    clock: systemClock,
    ids: systemIds,
    log: createLog('error', process.stderr),
    random: Math.random,
    baseUrl: () => 'http://bench',
    ownPorts: () => [],
  })
  const inboxes: Inbox[] = []
  for (const server of servers) {
    const webhookUrl = `http://${host}:${(server.address() as AddressInfo).port}/hook`
    inboxes.push(await createInbox(app, operator, { webhookUrl }))
  }
  const subjects = await app.store.write(async db => {
    const rows = []
    for (const { id, podId } of inboxes) {
      const thread = await insertThreadRow(db, id)
      const message = await insertMessageRow(db, thread, { bodyText: 'A line of its text.\n'.repeat(200) })
      rows.push({ podId, inboxId: id, threadId: thread.id, messageId: message.id })
    }
    return rows
  })
  for (let done = 0; done < count; ) {
    await app.store.write(async db => {
      for (let n = 0; n < 500 && done < count; n++) {
        await recordEvent(app, db, 'message.received', subjects[done++ % endpoints]!)
      }
    })
  }
  await app.store.close()
  return inboxes[0]!.address
}

/** Sends mails one at a time; gives how long after the final dot came the 250, and the call. */
async function mailTimes(recipient: string): Promise<{ accepted: number[]; called: number[] }> {
  await greeting(host, smtpPort)
  const socket = createConnection({ host, port: smtpPort, noDelay: true })
  const lines = createInterface({ input: socket })[Symbol.asyncIterator]()
  const ask = async (line: string) => {
    socket.write(line)
    for (;;) {
      const { value, done } = await lines.next()
      if (done) throw new Error('the server hung up')
      if (value[3] !== '-') return String(value)
    }
  }
  await ask('')
  await ask('EHLO client.test\r\n')
  const accepted: number[] = []
  const called: number[] = []
  for (let n = 0; n < mails; n++) {
    await ask('MAIL FROM:<load@client.test>\r\n')
    await ask(`RCPT TO:<${recipient}>\r\n`)
    await ask('DATA\r\n')
    socket.write(
      `From: <load@client.test>\r\nTo: <${recipient}>\r\nSubject: ${n}\r\n\r\n${'x\r\n'.repeat(1000)}`,
    )
    const before = calls.count
    const startedAt = performance.now()
    const answer = await ask('.\r\n')
    if (!answer.startsWith('250')) throw new Error(answer)
    accepted.push(performance.now() - startedAt)
    await until('its call', () => calls.count > before)
    called.push(calls.at - startedAt)
    await pause(mailPauseMs)
  }
  socket.destroy()
  return { accepted, called }
}
