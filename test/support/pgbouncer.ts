import { spawn } from 'node:child_process'
import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import type { Test } from 'tap'
import { kill } from './contained.ts'
import { getPeer } from './peers.ts'
import { freePort } from './ports.ts'
import { until } from './until.ts'

/**
 * Starts Debian's PgBouncer before the server of a database; gives the URL of that database behind it.
 * @param settings lines of its configuration
 */
export async function startPgbouncer(t: Test, database: string, ...settings: string[]): Promise<string> {
  const dir = mkdtempSync(join(tmpdir(), 'mailboxd-pgb-'))
  const port = await freePort('127.0.0.1')
  const { port: to } = new URL(database)
  const config = join(dir, 'pgbouncer.ini')
  const users = join(dir, 'users')
  writeFileSync(users, '"postgres" ""\n')
  const lines = [
    '[databases]',
    `* = host=127.0.0.1 port=${to}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = trust',
    `auth_file = ${users}`,
    'max_client_conn = 200',
    'default_pool_size = 20',
    ...settings,
  ]
  writeFileSync(config, `${lines.join('\n')}\n`)
  const nobody = 65534
  const isRoot = process.getuid?.() === 0
  if (isRoot) for (const path of [dir, config, users]) chownSync(path, nobody, nobody)
  const demotion = isRoot ? [`--reuid=${nobody}`, `--regid=${nobody}`, '--clear-groups'] : []
  const child = spawn(
    'setpriv',
    [...demotion, '--pdeathsig', 'KILL', '--', getPeer('pgbouncer'), '-q', config],
    {
      stdio: 'ignore',
      cwd: dir,
    },
  )
  t.teardown(async () => {
    await kill(child, 'SIGKILL')
    rmSync(dir, { recursive: true, force: true })
  })
  const url = database.replace(`:${to}/`, `:${port}/`)
  await until('PgBouncer to answer', () => isAnswered(url), 30_000)
  return url
}

async function isAnswered(connectionString: string): Promise<boolean> {
  const client = new pg.Client({ connectionString })
  client.on('error', () => {})
  try {
    await client.connect()
    return true
  } catch {
    return false
  } finally {
    await client.end().catch(() => {})
  }
}
