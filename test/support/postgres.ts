import { spawn } from 'node:child_process'
import {
  chownSync,
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import pg from 'pg'
import { systemClock } from '../../lib/base/time.ts'
import { openStore } from '../../lib/store/open.ts'
import { kill } from './contained.ts'
import { madeOnce } from './made-once.ts'
import { getPeer } from './peers.ts'
import { freePort } from './ports.ts'
import { runProgram } from './program.ts'
import { until } from './until.ts'

export interface Postgres {
  /** `postgres://…` over loopback TCP, an empty database whose owner may do everything. */
  readonly url: string
  /** The same over its Unix socket. */
  readonly socketUrl: string
  readonly pid: number
  log(): string
  /** Ends it and removes all that it wrote. */
  stop(): Promise<void>
}

/** A server that can go and come back at its port. */
export interface Replicated extends Postgres {
  /** Ends it: SIGKILL as a machine that is gone, SIGINT as its operator. */
  end(signal: 'SIGKILL' | 'SIGINT'): Promise<void>
  start(): Promise<void>
}

/** Who it runs as when we are root, which PostgreSQL refuses to be. */
const nobody = 65534
const isRoot = process.getuid?.() === 0
const demotion = isRoot ? [`--reuid=${nobody}`, `--regid=${nobody}`, '--clear-groups'] : []

const programs = () => dirname(getPeer('postgres'))

/** On a machine that has much else to do. */
const readyMs = 60_000

/** A database with all migrations, which each server has: others are made from it. */
export const migratedDatabase = 'migrated'

/** The URL of another database of that server. */
export const databaseUrl = ({ url }: Pick<Postgres, 'url'>, name: string) =>
  url.replace(/\/postgres$/, `/${name}`)

/**
 * Starts a PostgreSQL of its own in a directory that `stop` removes; one for each test file.
 * @param settings as a server has them that runs with `-c`; without a word of the caller nothing is waited for that a disk does
 * @param small a folder of its data that is a disk of 8 MB for it alone, which needs root; outside it is below `/proc/<pid>/root`
 */
export async function startPostgres(
  settings: readonly string[] = forgetful,
  small?: string,
): Promise<Postgres & { readonly data: string }> {
  const made = await madeOnce('postgres', makeData)
  const dir = mkdtempSync(join(tmpdir(), 'mailboxd-pg-'))
  if (isRoot) chownSync(dir, nobody, nobody)
  const data = join(dir, 'data')
  const copied = await runProgram('cp', ['-a', made, data])
  if (copied.code !== 0) throw new Error(`cp ended with ${copied.code}: ${copied.stderr}`)
  const disk = small === undefined ? undefined : join(data, small)
  if (disk !== undefined) mkdirSync(disk, { recursive: true })
  const { stop, ...server } = await serve(data, dir, settings, undefined, disk)
  return {
    ...server,
    data,
    async stop() {
      await stop('SIGQUIT')
      rmSync(dir, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

/**
 * Starts a PostgreSQL and a standby of it that has all that is committed before it is said to be: streaming replication, synchronous.
 */
export async function startReplicated(): Promise<{ primary: Replicated; standby: Replicated }> {
  const primary = await startAgain(await madeOnce('postgres', makeData))
  const standby = await startAgain(undefined, primary.url)
  await ask(primary.url, `alter system set synchronous_standby_names = '*'`)
  await ask(primary.url, 'select pg_reload_conf()')
  const inStep = `select 1 from pg_stat_replication where sync_state = 'sync'`
  await until('the standby in step', async () => (await ask(primary.url, inStep)).length > 0)
  return { primary, standby }
}

/** Has a standby take over. */
export async function promote({ url }: Postgres): Promise<void> {
  await ask(url, 'select pg_promote()')
}

async function ask(url: string, statement: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(statement)).rows
  } finally {
    await client.end()
  }
}

/** @param made the data that it begins with, or those of the server at this URL, which it follows */
async function startAgain(made: string | undefined, primaryUrl = ''): Promise<Replicated> {
  const dir = mkdtempSync(join(tmpdir(), 'mailboxd-pg-'))
  if (isRoot) chownSync(dir, nobody, nobody)
  const data = join(dir, 'data')
  const copy =
    made === undefined
      ? [
          'setpriv',
          ...demotion,
          '--',
          join(programs(), 'pg_basebackup'),
          '-D',
          data,
          '-d',
          primaryUrl,
          '-R',
          '-c',
          'fast',
        ]
      : ['cp', '-a', made, data]
  const { code, stderr } = await runProgram(copy[0]!, copy.slice(1), undefined, { cwd: dir })
  if (code !== 0) throw new Error(`${copy[0]} ended with ${code}: ${stderr}`)
  const port = await freePort('127.0.0.1')
  let { stop: end, ...server } = await serve(data, dir, forgetful, port)
  return {
    ...server,
    end: signal => end(signal),
    async start() {
      ;({ stop: end, ...server } = await serve(data, dir, forgetful, port))
    },
    async stop() {
      await end('SIGQUIT')
      rmSync(dir, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

/** Makes what all servers of a run begin with: it takes a second of the processor. */
async function makeData(dir: string): Promise<void> {
  mkdirSync(dir, { mode: 0o700 })
  if (isRoot) chownSync(dir, nobody, nobody)
  const initdb = join(programs(), 'initdb')
  const form = ['-E', 'UTF8', '--locale=C', '--wal-segsize=1']
  const args = [...demotion, '--', initdb, '-D', dir, '-U', 'postgres', '-A', 'trust', '-N', ...form]
  const { code, stderr } = await runProgram('setpriv', args, undefined, { cwd: dir })
  if (code !== 0) throw new Error(`initdb ended with ${code}: ${stderr}`)
  const server = await serve(dir, dir, forgetful)
  try {
    const client = new pg.Client({ connectionString: server.url })
    await client.connect()
    await client.query(`create database ${migratedDatabase}`)
    await client.end()
    await (await openStore(databaseUrl(server, migratedDatabase), systemClock)).close()
  } finally {
    await server.stop('SIGINT')
  }
}

type Served = Omit<Postgres, 'stop'> & { stop(signal: 'SIGINT' | 'SIGQUIT' | 'SIGKILL'): Promise<void> }

const forgetful = ['fsync=off', 'full_page_writes=off', 'shared_buffers=32MB']

/** Serves the data in `data`; its log and its socket are in `dir`. */
async function serve(
  data: string,
  dir: string,
  given: readonly string[] = forgetful,
  at?: number,
  disk?: string,
): Promise<Served> {
  const logFile = join(dir, 'log')
  const port = at ?? (await freePort('127.0.0.1'))
  const settings = [...given, `unix_socket_directories=${dir}`]
  const postgres = [join(programs(), 'postgres'), '-D', data, '-h', '127.0.0.1', '-p', String(port)]
  const log = openSync(logFile, 'a')
  const before = statSync(logFile).size
  const mounted =
    disk === undefined
      ? []
      : [
          ...['unshare', '--mount', '--', 'sh', '-c'],
          'mount -t tmpfs -o size=8m,mode=1777 tmpfs "$0" && exec "$@"',
          disk,
        ]
  const [program, ...args] = [...mounted, 'setpriv', ...demotion, '--pdeathsig', 'QUIT', '--', ...postgres]
  const child = spawn(program!, [...args, ...settings.flatMap(setting => ['-c', setting])], {
    stdio: ['ignore', log, log],
    cwd: dir,
  })
  closeSync(log)
  const readLog = () => readFileSync(logFile, 'utf8')
  const isReady = () => /ready to accept (read-only )?connections/.test(readLog().slice(before))
  try {
    await until('PostgreSQL ready', isReady, readyMs)
  } catch (error) {
    const said = readLog()
    await kill(child, 'SIGQUIT')
    throw new Error(`PostgreSQL did not start:\n${said}`, { cause: error })
  }
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    socketUrl: `postgres://postgres@/postgres?host=${encodeURIComponent(dir)}&port=${port}`,
    pid: child.pid ?? 0,
    log: readLog,
    stop: signal => kill(child, signal),
  }
}
