import { spawn } from 'node:child_process'
import { chownSync, closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { kill } from './contained.ts'
import { getPeer } from './peers.ts'
import { freePort } from './ports.ts'
import { runProgram } from './program.ts'
import { until } from './until.ts'

export interface Postgres {
  /** `postgres://…` over loopback TCP, an empty database whose owner may do everything. */
  readonly url: string
  /** The same over its Unix socket. */
  readonly socketUrl: string
  log(): string
  /** Ends it and removes all that it wrote. */
  stop(): Promise<void>
}

/** Who it runs as when we are root, which PostgreSQL refuses to be. */
const nobody = 65534

/** Starts a PostgreSQL of its own, without fsync, in a directory that `stop` removes; one for each test file. */
export async function startPostgres(): Promise<Postgres> {
  const bin = dirname(getPeer('postgres'))
  const dir = mkdtempSync(join(tmpdir(), 'mailboxd-pg-'))
  const data = join(dir, 'data')
  const logFile = join(dir, 'log')
  const root = process.getuid?.() === 0
  if (root) chownSync(dir, nobody, nobody)
  const demotion = root ? [`--reuid=${nobody}`, `--regid=${nobody}`, '--clear-groups'] : []

  const initdb = [
    join(bin, 'initdb'),
    '-D',
    data,
    '-U',
    'postgres',
    '-A',
    'trust',
    '-E',
    'UTF8',
    '--locale=C',
    '-N',
  ]
  const made = await runProgram('setpriv', [...demotion, '--', ...initdb], undefined, { cwd: dir })
  if (made.code !== 0) throw new Error(`initdb ended with ${made.code}: ${made.stderr}`)

  const port = await freePort('127.0.0.1')
  const settings = [
    'fsync=off',
    'full_page_writes=off',
    'shared_buffers=32MB',
    `unix_socket_directories=${dir}`,
  ]
  const postgres = [join(bin, 'postgres'), '-D', data, '-h', '127.0.0.1', '-p', String(port)]
  const log = openSync(logFile, 'a')
  const child = spawn(
    'setpriv',
    [...demotion, '--pdeathsig', 'QUIT', '--', ...postgres, ...settings.flatMap(setting => ['-c', setting])],
    { stdio: ['ignore', log, log], cwd: dir },
  )
  closeSync(log)
  const readLog = () => readFileSync(logFile, 'utf8')
  const stop = async () => {
    await kill(child, 'SIGQUIT')
    rmSync(dir, { recursive: true, force: true, maxRetries: 5 })
  }
  try {
    await until('PostgreSQL ready', () => readLog().includes('ready to accept connections'))
  } catch (error) {
    const said = readLog()
    await stop()
    throw new Error(`PostgreSQL did not start:\n${said}`, { cause: error })
  }
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    socketUrl: `postgres://postgres@/postgres?host=${encodeURIComponent(dir)}&port=${port}`,
    log: readLog,
    stop,
  }
}
