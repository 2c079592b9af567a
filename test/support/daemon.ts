import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { createIds } from '../../lib/base/ids.ts'
import { systemClock } from '../../lib/base/time.ts'
import { blobsOf } from '../../lib/cli/blobs.ts'
import { quietLog } from '../../lib/cli/log.ts'
import { loadConfig } from '../../lib/config/load.ts'
import { createKey, type KeyTarget } from '../../lib/core/account/keys.ts'
import type { Rows } from '../../lib/core/app/app.ts'
import { operator } from '../../lib/core/app/caller.ts'
import { openRows } from '../../lib/core/open-rows.ts'
import type { ApiKeyWithToken } from '../../lib/model/api-key.ts'
import { builtProgram } from './built.ts'
import { noteBlobs, noteServer, requireConsistency, requireSettled } from './consistency.ts'
import { makeDataDir } from './migrated.ts'
import { bucketOfStories, serverOfStories } from './places-of-stories.ts'
import { type Finished, runProgram } from './program.ts'
import { temporaryDir } from './temporary-dir.ts'
import { until } from './until.ts'

/** On a machine that has much else to do. */
const readyMs = 60_000
/** What every daemon of a test is told at its start. */
const adviceAtStart = ['certificate_self_signed', 'base_url_missing', 'domain_not_verified']

export interface DaemonSettings {
  readonly hostname?: string
  readonly accountDomain?: string
  /** "127.0.0.1:port" of the test's DNS. */
  readonly dns?: string
  /** The port that the MX hosts of the test listen on. */
  readonly mxPort?: number
  /** More TOML, after the tables above it: `[smtp]` is not among them. */
  readonly toml?: string
  readonly smtp?: string
  /** Where it takes mail; a free port unless told. */
  readonly smtpListen?: string
  /** More of the environment of the daemon and of mailboxctl. */
  readonly env?: Readonly<Record<string, string>>
  /** Where its data are to be; in a directory that goes with the test unless told. */
  readonly dataDir?: string
  /** Whether it begins with nothing, where each of its writes is looked at; else what a first start makes is there. */
  readonly beginsEmpty?: boolean
  /** The PostgreSQL database with its rows, if not a file. */
  readonly database?: string
  /** Where the programs are that it runs, of another tree than this one: its test asks at the end what holds of the data. */
  readonly programs?: string
  /** The test puts there what contradicts itself: nobody asks for that at the end. */
  readonly isContradictory?: boolean
}

/**
 * A real daemon in a process of its own, on free ports, with its data in a directory that goes with the test. However it ends, by `end` or
 * with the test, its data must not contradict themselves (`mailboxctl verify`).
 */
export interface TestDaemon {
  readonly configPath: string
  readonly dataDir: string
  readonly smtpPort: number
  /** Those of submission, in the order of its settings. */
  readonly submissionPorts: readonly number[]
  readonly baseUrl: string
  readonly process: ChildProcess
  /** Where its metrics are asked for, when its configuration has them. */
  metricsUrl(): string
  /** The entries of its log so far. */
  log(): Record<string, unknown>[]
  /** Those of them that tell of trouble, without the advice that a start with this configuration gives. */
  troubles(): Record<string, unknown>[]
  /** Runs mailboxctl on the same configuration; its JSON. */
  ctl(...args: string[]): Promise<Record<string, unknown>>
  ctlResult(...args: string[]): Promise<Finished>
  /**
   * Does `work` on its database beside it, as mailboxctl does, but in the process of the test: for stories that are about something
   * else, a start of a program would be the dearest part.
   */
  withRows<T>(work: (rows: Rows) => Promise<T>): Promise<T>
  /** Makes a key, for the account unless told. */
  createKey(target?: KeyTarget): Promise<ApiKeyWithToken>
  /** Sends a signal and waits for the end; gives the exit code or signal. */
  end(signal: NodeJS.Signals): Promise<number | string>
  /** Starts again on the same data, after it ended. Ports may be others. @param programs other ones from now on */
  restart(programs?: string): Promise<TestDaemon>
}

export async function startDaemon(t: Test, settings: DaemonSettings = {}): Promise<TestDaemon> {
  const dir = temporaryDir(t)
  const configPath = join(dir, 'mailboxd.toml')
  const dataDir = settings.dataDir ?? join(dir, 'data')
  const server = settings.database ?? (await serverOfStories())
  if (server !== undefined) noteServer(dataDir, server)
  const [blobs, s3] = await bucketOfStories(t, settings.toml)
  writeFileSync(
    configPath,
    `hostname = "${settings.hostname ?? 'mail.ours.example'}"
account_domain = "${settings.accountDomain ?? 'ours.example'}"
data_dir = "${dataDir}"
${server === undefined ? '' : `database = "${server}"`}
${blobs}
${settings.toml ?? ''}
${s3}
[http]
listen = ["127.0.0.1:0"]
[smtp]
listen = ["${settings.smtpListen ?? '127.0.0.1:0'}"]
max_connections_per_address = 500
max_connections_per_block = 500
connections_per_minute_per_address = 0
connections_per_minute_per_block = 0
messages_per_minute_per_address = 0
messages_per_minute_per_block = 0
${settings.smtp ?? ''}
[dns]
servers = ["${settings.dns ?? '127.0.0.1:9'}"]
[delivery]
port = ${settings.mxPort ?? 9}
allow_networks = ["127.0.0.0/8"]
[authentication]
check = ${settings.dns !== undefined}
`,
  )
  const isPrepared = server === undefined && !settings.beginsEmpty && !existsSync(dataDir)
  if (isPrepared) await makeDataDir(dataDir)
  return run(t, dir, configPath, dataDir, settings)
}

async function run(
  t: Test,
  dir: string,
  configPath: string,
  dataDir: string,
  settings: DaemonSettings,
): Promise<TestDaemon> {
  const program = (name: 'mailboxd' | 'mailboxctl') =>
    settings.programs === undefined ? builtProgram(name) : join(settings.programs, `${name}.js`)
  const child = spawn(process.execPath, [program('mailboxd'), '--config', configPath], {
    cwd: dir,
    stdio: ['ignore', 'inherit', 'pipe'],
    env: { ...process.env, ...settings.env },
  })
  const asksAtEnd = !settings.isContradictory && settings.programs === undefined
  const openBlobs = blobsOf(await loadConfig(configPath))
  noteBlobs(dataDir, openBlobs)
  const entries: Record<string, unknown>[] = []
  let rest = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop()!
    for (const line of lines) entries.push(line.startsWith('{') ? JSON.parse(line) : { msg: line })
  })
  const isUp = () => child.exitCode === null && child.signalCode === null
  const end = async (signal: NodeJS.Signals) => {
    if (!isUp()) return child.signalCode ?? child.exitCode!
    const exit = once(child, 'exit')
    child.kill(signal)
    const [code, killedBy] = await exit
    if (asksAtEnd) await requireConsistency(dataDir, code === 0 ? 'stopped' : 'killed', openBlobs)
    return killedBy ?? code
  }
  t.teardown(async () => {
    try {
      if (asksAtEnd && isUp()) await requireSettled(dataDir, openBlobs)
    } finally {
      await end('SIGKILL')
    }
  })
  const ready = await until(
    'the daemon ready',
    () => {
      if (child.exitCode !== null) throw new Error(`the daemon ended: ${JSON.stringify(entries)}`)
      return entries.find(entry => entry.msg === 'ready')
    },
    readyMs,
  )
  const ctlResult = (...args: string[]) =>
    runProgram(
      process.execPath,
      [program('mailboxctl'), '--config', configPath, '--json', ...args],
      undefined,
      { env: settings.env },
    )
  const ctl = async (...args: string[]) => {
    const { code, stdout, stderr } = await ctlResult(...args)
    if (code !== 0) throw new Error(`mailboxctl ${args.join(' ')} ended with ${code}: ${stderr}`)
    return JSON.parse(stdout)
  }
  const withRows: TestDaemon['withRows'] = async work => {
    const ids = createIds(systemClock)
    const config = await loadConfig(configPath)
    const rows = await openRows({ config, clock: systemClock, ids, log: quietLog, mayMigrate: false })
    try {
      return await work(rows)
    } finally {
      await rows.store.close()
    }
  }
  return {
    configPath,
    dataDir,
    smtpPort: Number((ready.smtp as string[])[0]!.split(':')[1]),
    submissionPorts: (ready.submission as string[]).map(one => Number(one.split(':')[1])),
    baseUrl: ready.baseUrl as string,
    process: child,
    metricsUrl: () => {
      const told = entries.find(line => line.msg === 'metrics can be asked for')
      return `http://${(told!.metrics as string[])[0]}/metrics`
    },
    log: () => entries,
    troubles: () =>
      entries.filter(
        ({ level, code }) =>
          ['warn', 'error', 'fatal'].includes(String(level)) && !adviceAtStart.includes(String(code)),
      ),
    ctl,
    ctlResult,
    withRows,
    createKey: (target = { account: true }) => withRows(rows => createKey(rows, operator, target, null)),
    end,
    restart: (programs = settings.programs) =>
      run(t, dir, configPath, dataDir, { ...settings, ...(programs !== undefined && { programs }) }),
  }
}
