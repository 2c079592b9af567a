import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { getPeer } from './peers.ts'
import { temporaryDir } from './temporary-dir.ts'
import { until } from './until.ts'

/** Starts Knot, authoritative for these zones (each the lines of a zone file), on port 53 of `address`. Needs root. */
export async function startKnot(
  t: Test,
  address: string,
  zones: Readonly<Record<string, string>>,
): Promise<void> {
  const dir = temporaryDir(t)
  mkdirSync(join(dir, 'run'))
  for (const [zone, lines] of Object.entries(zones)) {
    const soa = `@ SOA ns.${zone}. hostmaster.${zone}. 1 3600 600 86400 60\n@ NS ns.${zone}.\nns A ${address}\n`
    writeFileSync(join(dir, `${zone}.zone`), `$ORIGIN ${zone}.\n$TTL 60\n${soa}${lines}\n`)
  }
  const listed = Object.keys(zones).map(zone => `  - domain: ${zone}\n    file: ${dir}/${zone}.zone\n`)
  const config = `server:
    rundir: ${dir}/run
    listen: ${address}@53
database:
    storage: ${dir}
log:
  - target: stderr
    any: info
zone:
${listed.join('')}`
  writeFileSync(join(dir, 'knot.conf'), config)
  const knot = spawn(getPeer('knot'), ['-c', join(dir, 'knot.conf')], { stdio: ['ignore', 'ignore', 'pipe'] })
  let log = ''
  knot.stderr.setEncoding('utf8').on('data', text => {
    log += text
  })
  const ended = once(knot, 'close')
  t.teardown(async () => {
    knot.kill()
    await ended
  })
  await until('Knot serves its zones', () => {
    if (knot.exitCode !== null) throw new Error(log)
    return (
      Object.keys(zones).every(zone => log.includes(`[${zone}.] loaded`)) && log.includes('server started')
    )
  })
}
