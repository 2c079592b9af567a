import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { kill } from '../../test/support/contained.ts'
import { type DnsZone, startDns } from '../../test/support/dns.ts'
import { freePort, greeting } from '../../test/support/ports.ts'
import { runProgram } from '../../test/support/program.ts'
import { until } from '../../test/support/until.ts'
import type { Subject } from './subject.ts'

export interface MailboxdSubject extends Subject {
  /** `http://address:port`, where the API answers. */
  readonly api: string
  readonly token: string
  readonly inboxId: string
  /** The path of its configuration. */
  readonly config: string
  readonly dataDir: string
  /** From the start of the process to the first byte of its greeting. */
  readonly startMs: number
}

const built = (program: string) => fileURLToPath(new URL(`../../dist/bin/${program}.js`, import.meta.url))

/** As a user runs it: the launcher chooses Node and its options. */
const launcher = (program: string) => fileURLToPath(new URL(`../../bin/${program}`, import.meta.url))

/** Why mailboxd cannot be measured, or false. */
export function withoutMailboxd(): string | false {
  return existsSync(built('mailboxd')) ? false : 'dist/bin/mailboxd.js is not built (npm run build)'
}

export interface MailboxdSettings {
  /** Options of Node for the daemon's process, as `NODE_OPTIONS` has them. */
  readonly nodeOptions?: string
  /** More of the DNS. */
  readonly zone?: DnsZone
  /** Whom it asks instead, on port 53. */
  readonly nameServer?: string | undefined
  /** A data directory that stays, instead of one that is made and deleted. */
  readonly dataDir?: string | undefined
  /** A postgres:// URL, where the rows are not to be in a file. */
  readonly database?: string | undefined
  /** Makes what is in the data directory before the daemon starts. */
  readonly prepare?: (config: string) => Promise<void>
}

/** The built daemon in server mode, an inbox in it, and a DNS in which sink.test is delivered to 127.0.0.2:`sinkPort`. */
export async function startMailboxdSubject(
  sinkPort: number,
  {
    nodeOptions = '',
    zone = {},
    nameServer,
    dataDir: keptDir,
    database,
    prepare = async () => {},
  }: MailboxdSettings = {},
): Promise<MailboxdSubject> {
  const dir = mkdtempSync(join(tmpdir(), 'mailboxd-bench-'))
  const dns = await startDns({
    'sink.test': { MX: [{ priority: 10, exchange: 'mx.sink.test' }] },
    'mx.sink.test': { A: ['127.0.0.2'] },
    ...zone,
  })
  const address = '127.0.0.1'
  const port = await freePort(address)
  const httpPort = await freePort(address)
  const config = join(dir, 'mailboxd.toml')
  const dataDir = keptDir ?? join(dir, 'data')
  writeFileSync(
    config,
    `hostname = "mx.mailboxd.test"
account_domain = "mailboxd.test"
data_dir = "${dataDir}"
${database === undefined ? '' : `database = "${database}"`}
[smtp]
listen = ["${address}:${port}"]
trusted_networks = ["127.0.0.0/8"]
[http]
listen = ["${address}:${httpPort}"]
requests_per_minute = 1000000
max_connections = 20000
max_connections_per_address = 20000
max_connections_per_block = 20000
[dns]
servers = ["${nameServer ? `${nameServer}:53` : dns.server}"]
[delivery]
port = ${sinkPort}
mode = "mx"
allow_networks = ["127.0.0.0/8"]
[sending]
recipients_per_inbox_hour = 10000000
`,
  )
  await prepare(config)
  const logFile = join(dir, 'log')
  const log = openSync(logFile, 'a')
  const startedAt = performance.now()
  const child = spawn(launcher('mailboxd'), ['--config', config], {
    stdio: ['ignore', log, log],
    env: { ...process.env, NODE_OPTIONS: nodeOptions },
  })
  const stop = async () => {
    child.kill('SIGTERM')
    if (child.exitCode === null && child.signalCode === null) {
      await Promise.race([once(child, 'exit'), new Promise(resolve => setTimeout(resolve, 15_000).unref())])
    }
    await kill(child)
    await dns.close()
    rmSync(dir, { recursive: true, force: true })
  }
  const ctl = async (...args: string[]): Promise<Record<string, unknown>> => {
    const run = await runProgram(launcher('mailboxctl'), ['--config', config, '--json', ...args])
    if (run.code !== 0) throw new Error(`mailboxctl ${args.join(' ')} ended with ${run.code}: ${run.stderr}`)
    return JSON.parse(run.stdout)
  }
  try {
    await greeting(address, port)
    const startMs = performance.now() - startedAt
    await until('mailboxd ready', () => readFileSync(logFile, 'utf8').includes('"msg":"ready"'))
    const key = await ctl('key', 'create')
    const name = `bench-${randomBytes(4).toString('hex')}` // a directory that stays has those of before
    const inbox = await ctl('inbox', 'create', '--mailbox-name', name)
    const api = `http://${address}:${httpPort}`
    const get = async (path: string) => {
      const answer = await fetch(`${api}/v1${path}`, { headers: { authorization: `Bearer ${key.token}` } })
      if (!answer.ok) throw new Error(`GET ${path} was answered ${answer.status}`)
      return answer
    }
    return {
      address,
      port,
      recipient: String(inbox.address),
      async first() {
        const list = await get(`/inboxes/${inbox.id}/messages?limit=1`)
        const { data } = (await list.json()) as { data: { id: string }[] }
        return (await get(`/messages/${data[0]?.id}/raw?trace=true`)).text()
      },
      pid: child.pid ?? 0,
      api,
      token: String(key.token),
      inboxId: String(inbox.id),
      config,
      dataDir,
      startMs,
      stop,
    }
  } catch (error) {
    const said = readFileSync(logFile, 'utf8').slice(-4000)
    await stop()
    throw new Error(`mailboxd did not start:\n${said}`, { cause: error })
  }
}
