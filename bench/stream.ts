/**
 * `node bench/stream.ts [EVENTS]`: a WebSocket replays 100,000 events of messages (unless told) of a daemon; then
 * a thousand sockets are told each of a few events. The clients are in this process, on the same cores.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { WebSocket } from 'ws'
import { createIds } from '../lib/base/ids.ts'
import { createLog } from '../lib/base/log.ts'
import { systemClock } from '../lib/base/time.ts'
import { parseConfig } from '../lib/config/load.ts'
import { createInbox } from '../lib/core/account/inboxes.ts'
import { createKey } from '../lib/core/account/keys.ts'
import type { App } from '../lib/core/app/app.ts'
import { operator } from '../lib/core/app/caller.ts'
import { openApp } from '../lib/core/open.ts'
import { leaveEvent, listEvents } from '../lib/store/events.ts'
import { insertMessageRow, insertThreadRow } from '../test/support/rows.ts'
import { submit } from '../test/support/smtp-client.ts'
import { until } from '../test/support/until.ts'
import { generatedText } from './generated-inbox.ts'
import { percentile } from './percentile.ts'
import { residentBytes } from './process-figures.ts'

const count = Number(process.argv[2] ?? 100_000)
const sockets = 1000
const rounds = 20
const everything = { podId: null, inboxId: null, type: undefined, after: undefined }
const root = join(import.meta.dirname, '..')
const dir = mkdtempSync(join(tmpdir(), 'mailboxd-bench-'))
const configText = `hostname = "mx.mailboxd.test"
account_domain = "mailboxd.test"
data_dir = "${join(dir, 'data')}"
[smtp]
listen = ["127.0.0.1:0"]
[http]
listen = ["127.0.0.1:0"]
requests_per_minute = 1000000
max_connections = 20000
max_connections_per_address = 20000
max_connections_per_block = 20000
[authentication]
check = false
`
const mail = 'From: bob@example.net\r\nSubject: Hi\r\n\r\nHello\r\n'
let daemon: ChildProcess | undefined
try {
  const filled = await fill()
  writeFileSync(join(dir, 'mailboxd.toml'), configText)
  daemon = spawn(
    process.execPath,
    [join(root, 'dist/bin/mailboxd.js'), '--config', join(dir, 'mailboxd.toml')],
    {
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  )
  let log = ''
  daemon.stderr!.setEncoding('utf8').on('data', (text: string) => {
    log += text
  })
  const ready = await until('the daemon', () => log.split('\n').find(line => line.includes('"msg":"ready"')))
  const { baseUrl, smtp } = JSON.parse(ready)
  const url = `${baseUrl.replace('http', 'ws')}/v1/ws`
  console.log(`${cpus()[0]?.model}, Node ${process.version}\n`)
  await replay(url, filled, daemon.pid!)
  await replay(url, filled, daemon.pid!)
  await fanOut(url, filled.tokens, filled.address, Number(smtp[0].split(':')[1]))
} finally {
  daemon?.kill('SIGTERM')
  if (daemon && daemon.exitCode === null) await once(daemon, 'exit')
  rmSync(dir, { recursive: true, force: true })
}

/** An inbox with as many messages of about a hundred words, and an event of each. */
async function fill(): Promise<{ address: string; tokens: string[]; firstId: string }> {
  const log = createLog('error')
  const config = parseConfig(configText, 'bench')
  const { app } = await openApp({
    mayMigrate: true,
    ...{ config, clock: systemClock, ids: createIds(systemClock), log, random: Math.random },
    baseUrl: () => 'http://127.0.0.1',
    ownPorts: () => [],
  })
  const inbox = await createInbox(app, operator, { mailboxName: 'bench' })
  const tokens: string[] = []
  for (let n = 0; n < sockets / 10; n++) {
    tokens.push((await createKey(app, operator, { account: true }, null)).token)
  }
  for (let first = 0; first < count; first += 500) await fillSome(app, inbox, first)
  const firstId = (await listEvents(app.store.read, everything, 1))[0]!.id
  await app.store.close()
  return { address: inbox.address, tokens, firstId }
}

async function fillSome(app: App, inbox: { id: string; podId: string }, first: number): Promise<void> {
  await app.store.write(async db => {
    const thread = await insertThreadRow(db, inbox.id)
    for (let n = first; n < Math.min(first + 500, count); n++) {
      const attachments =
        n % 10 === 0 ? '[{"filename":"a.pdf","contentType":"application/pdf","sizeBytes":1}]' : '[]'
      const message = await insertMessageRow(db, thread, { bodyText: generatedText(n), attachments })
      leaveEvent(db, {
        ...{ id: app.ids.next(), type: 'message.received', podId: inbox.podId, inboxId: inbox.id },
        ...{ threadId: thread.id, messageId: message.id, payload: '{}', createdAt: message.createdAt },
      })
    }
  })
}

async function open(url: string, token: string): Promise<WebSocket> {
  const socket = new WebSocket(url, { headers: { authorization: `Bearer ${token}` } })
  await once(socket, 'open')
  return socket
}

async function replay(
  url: string,
  { tokens, firstId }: { tokens: readonly string[]; firstId: string },
  pid: number,
): Promise<void> {
  const before = residentBytes(pid)
  let most = before
  const sampling = setInterval(() => {
    most = Math.max(most, residentBytes(pid))
  }, 100)
  const socket = await open(url, tokens[0]!)
  let told = 0
  let bytes = 0
  const started = performance.now()
  const all = new Promise<void>(resolve => {
    socket.on('message', (data: Buffer) => {
      bytes += data.length
      // The first is `subscribed`, and the first event is the cursor.
      if (++told === count) resolve()
    })
  })
  socket.send(JSON.stringify({ type: 'subscribe', last_event_id: firstId }))
  await all
  const seconds = (performance.now() - started) / 1000
  clearInterval(sampling)
  socket.terminate()
  const mb = (value: number) => (value / 1e6).toFixed(0)
  console.log(
    `replay: ${count} events, ${mb(bytes)} MB in ${seconds.toFixed(1)} s; RSS ${mb(before)} MB before, ${mb(most)} MB at the most`,
  )
}

async function fanOut(url: string, tokens: readonly string[], address: string, port: number): Promise<void> {
  const opened: WebSocket[] = []
  const arrivedAt: number[] = []
  for (const token of tokens) {
    for (let n = 0; n < 10; n++) {
      const socket = await open(url, token)
      const answered = once(socket, 'message')
      socket.send('{"type":"subscribe"}')
      await answered
      socket.on('message', () => arrivedAt.push(performance.now()))
      opened.push(socket)
    }
  }
  const first: number[] = []
  const last: number[] = []
  for (let round = 0; round < rounds; round++) {
    arrivedAt.length = 0
    // From the beginning: the answer to the mail may come to this process after what the sockets are told.
    const sentAt = performance.now()
    await submit('127.0.0.1', port, { from: 'bob@example.net', to: [address], raw: mail })
    await until('all sockets to be told', () => arrivedAt.length === opened.length)
    first.push(arrivedAt[0]! - sentAt)
    last.push(arrivedAt.at(-1)! - sentAt)
  }
  for (const socket of opened) socket.terminate()
  const ms = (values: readonly number[]) =>
    `p50 ${percentile(values, 50).toFixed(0)}, p99 ${percentile(values, 99).toFixed(0)} ms`
  console.log(
    `${opened.length} sockets, from the connect that hands a mail in: the first is told after ${ms(first)}; all after ${ms(last)}`,
  )
}
