import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createDns } from '../../lib/courier/dns.ts'
import { kill } from '../../test/support/contained.ts'
import { getPeer } from '../../test/support/peers.ts'
import { until } from '../../test/support/until.ts'

export interface NameServer {
  /** Where it answers, on port 53, because /etc/resolv.conf knows no other. */
  readonly address: string
  stop(): Promise<void>
}

const address = '127.0.53.1'

/** Debian's Unbound with these TXT records and nothing else; every other name does not exist. Needs root. */
export async function startNameServer(txt: Readonly<Record<string, string>>): Promise<NameServer> {
  const dir = mkdtempSync(join(tmpdir(), 'mailboxd-bench-'))
  const records = Object.entries(txt).map(([name, value]) => {
    const strings = value.match(/.{1,255}/g) ?? []
    return `  local-data: '${name}. 3600 IN TXT ${strings.map(one => `"${one}"`).join(' ')}'\n`
  })
  const config = join(dir, 'unbound.conf')
  writeFileSync(
    config,
    `server:
  directory: "${dir}"
  chroot: ""
  username: ""
  pidfile: ""
  use-syslog: no
  logfile: "${join(dir, 'log')}"
  interface: ${address}@53
  do-daemonize: no
  do-ip6: no
  local-zone: "." static
  local-data: '. 3600 IN SOA ns.test. hostmaster.test. 1 3600 900 86400 3600'
${records.join('')}remote-control:
  control-enable: no
`,
  )
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', '--', getPeer('unbound'), '-c', config, '-d'], {
    stdio: 'ignore',
  })
  const stop = async () => {
    await kill(child)
    rmSync(dir, { recursive: true })
  }
  try {
    const dns = createDns({ servers: [`${address}:53`], timeoutMs: 500 })
    const [first = ''] = Object.keys(txt)
    await until('an answer of Unbound', () =>
      dns.resolve(first, 'TXT').then(
        () => true,
        () => false,
      ),
    )
    return { address, stop }
  } catch (error) {
    await stop()
    throw error
  }
}
