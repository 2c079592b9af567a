import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { createDns } from '../../lib/courier/dns.ts'
import { freePort } from './ports.ts'
import { runProgram } from './program.ts'
import { temporaryDir } from './temporary-dir.ts'
import { until } from './until.ts'

export interface SignedZone {
  readonly name: string
  /** Its records as lines of a zone file, without SOA and NS. */
  readonly records: readonly string[]
  /** The resolver believes in another key, so that nothing in the zone validates. */
  readonly isBogus?: boolean
}

/**
 * Debian's Unbound on loopback as a validating resolver: the zones are signed and their keys its trust anchors; the
 * names below `unsigned.name` are asked of its server, and are not authenticated.
 * @returns "address:port"
 */
export async function startUnbound(
  t: Test,
  zones: readonly SignedZone[],
  unsigned: { readonly name: string; readonly server: string },
): Promise<string> {
  const dir = temporaryDir(t)
  const signed = await Promise.all(zones.map(zone => sign(dir, zone)))
  const port = await freePort('127.0.0.1')
  const config = join(dir, 'unbound.conf')
  writeFileSync(
    config,
    `server:
  directory: "${dir}"
  chroot: ""
  username: ""
  pidfile: ""
  use-syslog: no
  logfile: "${join(dir, 'unbound.log')}"
  interface: 127.0.0.1@${port}
  do-daemonize: no
  do-ip6: no
  do-not-query-localhost: no
  module-config: "validator iterator"
${signed.map(({ anchor }) => `  trust-anchor-file: "${anchor}"\n`).join('')}
remote-control:
  control-enable: no
forward-zone:
  name: "${unsigned.name}"
  forward-addr: ${unsigned.server.replace(':', '@')}
${signed.map(({ name, file }) => `auth-zone:\n  name: "${name}"\n  zonefile: "${file}"\n  for-upstream: yes\n  for-downstream: no\n`).join('')}`,
  )
  const child = spawn('/usr/sbin/unbound', ['-c', config, '-d'], { stdio: 'ignore' })
  t.teardown(async () => {
    if (child.exitCode !== null) return
    const ended = once(child, 'exit')
    child.kill()
    await ended
  })
  const server = `127.0.0.1:${port}`
  const dns = createDns({ servers: [server], timeoutMs: 500 })
  const answers = (error?: { code?: string }) => error?.code === undefined || error.code === 'ESERVFAIL'
  await until('an answer of Unbound', () =>
    dns.resolve(zones[0]!.name, 'SOA').then(
      () => true,
      error => answers(error),
    ),
  )
  return server
}

async function sign(dir: string, { name, records, isBogus = false }: SignedZone) {
  const file = join(dir, name)
  const lines = [
    `$ORIGIN ${name}.`,
    '$TTL 60',
    `@ SOA ns.${name}. hostmaster.${name}. 1 3600 900 86400 60`,
    `@ NS ns.${name}.`,
    'ns A 127.0.0.1',
    ...records,
  ]
  writeFileSync(file, `${lines.join('\n')}\n`)
  const makeKey = async () => {
    const made = await runProgram('ldns-keygen', ['-a', 'ECDSAP256SHA256', '-k', name], '', { cwd: dir })
    if (made.code !== 0) throw new Error(`no key for ${name}: ${made.stderr}`)
    return join(dir, made.stdout.trim())
  }
  const key = await makeKey()
  const done = await runProgram('ldns-signzone', [file, key], '', { cwd: dir })
  if (done.code !== 0) throw new Error(`${name} was not signed: ${done.stderr}`)
  const anchor = join(dir, `${name}.anchor`)
  writeFileSync(anchor, readFileSync(`${isBogus ? await makeKey() : key}.ds`))
  return { name, file: `${file}.signed`, anchor }
}
