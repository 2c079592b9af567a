/**
 * `node bench/lists.ts [MESSAGES]`: the lists of an inbox with a million messages (unless told) over HTTP, beside a bare
 * Koa route that reads the same rows; and what idle clients and waiters cost. The load generator is on the same cores. It
 * takes the built daemon (npm run build).
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseConfig } from '../lib/config/load.ts'
import { createInbox } from '../lib/core/account/inboxes.ts'
import { createKey } from '../lib/core/account/keys.ts'
import { operator } from '../lib/core/app/caller.ts'
import { databasePath } from '../lib/core/open-rows.ts'
import { kill } from '../test/support/contained.ts'
import { until } from '../test/support/until.ts'
import { loadHttp } from './http-load.ts'
import { percentile } from './percentile.ts'
import { residentBytes } from './process-figures.ts'
import { storeMessages } from './stored.ts'
import { startBareKoa } from './subject/bare-koa.ts'
import { withInstallation } from './subject/installation.ts'
import { table } from './table.ts'

const count = Number(process.argv[2] ?? 1_000_000)
const idleClients = 1000
const rounds = 5
const root = join(import.meta.dirname, '..')
const dir = mkdtempSync(join(tmpdir(), 'mailboxd-bench-'))
const dataDir = join(dir, 'data')
const configText = `hostname = "mx.mailboxd.test"
account_domain = "mailboxd.test"
data_dir = "${dataDir}"
[smtp]
listen = ["127.0.0.1:0"]
[http]
listen = ["127.0.0.1:0"]
requests_per_minute = 1000000
`
const stops: (() => Promise<void>)[] = []
try {
  const { inboxId, token } = await install()
  progress(`filling an inbox with ${count} messages`)
  storeMessages(databasePath(dataDir), count, inboxId)
  const koa = await startBareKoa(databasePath(dataDir), inboxId)
  stops.push(koa.stop)
  const bare = { port: koa.port, token }
  const { port, pid } = await startDaemon()
  const daemon = { port, token }

  const inbox = `/v1/inboxes/${inboxId}`
  const rows: string[][] = []
  const measure = async (name: string, server: typeof bare, paths: string[], connections = 20) => {
    progress(name)
    const { perSecond, p50Ms, p99Ms } = await loadHttp(server, paths, { connections })
    rows.push([name, perSecond.toFixed(0), p50Ms.toFixed(1), p99Ms.toFixed(1)])
    return perSecond
  }
  // By turns, because the machine is faster at one time than at another; what counts is the median of the shares.
  const compare = async (name: string, path: string) => {
    const shares: number[] = []
    for (let round = 1; round <= rounds; round++) {
      const least = await measure(`bare Koa: ${name}, round ${round}`, bare, [path])
      shares.push((100 * (await measure(`mailboxd: ${name}, round ${round}`, daemon, [path]))) / least)
    }
    return `${percentile(shares, 50).toFixed(0)} % (${Math.min(...shares).toFixed(0)} to ${Math.max(...shares).toFixed(0)})`
  }
  const list = await compare('50 messages', `${inbox}/messages`)
  const get = await compare('one inbox', inbox)
  await measure('first page, one client', daemon, [`${inbox}/messages`], 1)
  await measure('offset 100,000, one client', daemon, [`${inbox}/messages?offset=100000`], 1)
  await measure('offset 100,000, inbound', daemon, [`${inbox}/messages?offset=100000&direction=inbound`], 1)
  await measure('threads, offset 100,000', daemon, [`${inbox}/threads?offset=100000`], 1)
  console.log(`\n${cpus().length} × ${cpus()[0]?.model}, Node ${process.version}; ${count} messages\n`)
  console.log(table(['over HTTP', 'requests/s', 'p50 ms', 'p99 ms'], rows))
  console.log(`\nof the bare route: list ${list}, inbox ${get}`)
  await measureIdle(port, pid, token, inbox)
} finally {
  for (const stop of stops) await stop()
  rmSync(dir, { recursive: true, force: true })
}

function install(): Promise<{ inboxId: string; token: string }> {
  return withInstallation(parseConfig(configText, 'bench'), async app => {
    const inbox = await createInbox(app, operator, { mailboxName: 'bench' })
    const { token } = await createKey(app, operator, { account: true }, null)
    return { inboxId: inbox.id, token }
  })
}

async function startDaemon(): Promise<{ port: number; pid: number }> {
  const configPath = join(dir, 'mailboxd.toml')
  writeFileSync(configPath, configText)
  const child = spawn(join(root, 'bin/mailboxd'), ['--config', configPath], {
    stdio: ['ignore', 'inherit', 'pipe'],
  })
  stops.push(() => kill(child))
  let said = ''
  child.stderr!.setEncoding('utf8').on('data', text => {
    said += text
  })
  const port = await until(
    'the daemon ready',
    () => /"baseUrl":"http:\/\/[^"]*:(\d+)"/.exec(said)?.[1],
    60_000,
  )
  return { port: Number(port), pid: child.pid ?? 0 }
}

/** Clients that have asked once and keep their connection; and as many that wait for mail. */
async function measureIdle(port: number, pid: number, token: string, inbox: string): Promise<void> {
  const megabytes = (bytes: number) => (bytes / 1024 / 1024).toFixed(0)
  for (const [name, path] of [
    ['idle clients', inbox],
    ['waiters', `${inbox}/messages/wait?timeout=120`],
  ] as const) {
    progress(name)
    const before = residentBytes(pid)
    const sockets = await Promise.all(
      Array.from({ length: idleClients }, async () => {
        const socket = connect(port, '127.0.0.1')
        await once(socket, 'connect')
        socket.write(`GET ${path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer ${token}\r\n\r\n`)
        if (path === inbox) await once(socket, 'data')
        return socket
      }),
    )
    await new Promise(resolve => setTimeout(resolve, 2000))
    console.log(`${idleClients} ${name}: ${megabytes(residentBytes(pid) - before)} MB more`)
    for (const socket of sockets) socket.destroy()
    await new Promise(resolve => setTimeout(resolve, 1000))
  }
}

function progress(what: string): void {
  process.stderr.write(`measuring ${what}\n`)
}
