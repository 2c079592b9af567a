import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { kill } from './contained.ts'
import { blocksOf } from './documents.ts'
import type { PatroniMember } from './patroni.ts'
import { getPeer } from './peers.ts'
import { freePort } from './ports.ts'

type Member = Pick<PatroniMember, 'name' | 'host' | 'rest'>

/**
 * Starts Debian's HAProxy as the guide configures it, until the test ends.
 * @returns its address, which leads to the primary of the members
 */
export async function startHaproxy(t: Pick<Test, 'teardown'>, members: readonly Member[]): Promise<string> {
  const address = `127.0.0.1:${await freePort('127.0.0.1')}`
  const guide = blocksOf('docs/operators/postgres.md').find(({ language }) => language === 'haproxy')!
  const servers = members.map(
    ({ name, host, rest }) => `  server ${name} ${host} check port ${rest.split(':')[1]}\n`,
  )
  const config = guide.text
    .replace(/^ {2}bind .*$/m, `  bind ${address}`)
    .replace(/(^ {2}server .*\n)+/m, servers.join(''))
  const dir = mkdtempSync(join(tmpdir(), 'mailboxd-haproxy-'))
  const path = join(dir, 'haproxy.cfg')
  writeFileSync(path, config)
  const args = ['--pdeathsig', 'KILL', '--', getPeer('haproxy'), '-db', '-q', '-f', path]
  const child = spawn('setpriv', args, { stdio: 'ignore' })
  t.teardown(async () => {
    await kill(child)
    rmSync(dir, { recursive: true, force: true })
  })
  return address
}
