import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { getPeer } from './peers.ts'
import { temporaryDir } from './temporary-dir.ts'
import { until } from './until.ts'

/**
 * Starts Knot, authoritative for these zones (each the lines of a zone file), on port 53 of `address`. A zone whose parent is among
 * them is delegated there. Needs root.
 * @param signed zones that are signed: with the DS of their key in the zone above, or without
 */
export async function startKnot(
  t: Test,
  address: string,
  zones: Readonly<Record<string, string>>,
  signed: Readonly<Record<string, 'joined' | 'alone'>> = {},
): Promise<void> {
  const dir = temporaryDir(t)
  mkdirSync(join(dir, 'run'))
  const parentOf = (zone: string) => zone.slice(zone.indexOf('.') + 1)
  const listed = Object.keys(zones).map(zone => {
    const signing = zone in signed ? '    dnssec-signing: on\n    dnssec-policy: once\n' : ''
    return `  - domain: ${zone}\n    file: ${dir}/${zone}.zone\n${signing}`
  })
  const config = `server:
    rundir: ${dir}/run
    listen: ${address}@53
database:
    storage: ${dir}
log:
  - target: stderr
    any: info
policy:
  - id: once
    manual: on
    single-type-signing: on
    algorithm: ecdsap256sha256
zone:
${listed.join('')}`
  const path = join(dir, 'knot.conf')
  writeFileSync(path, config)
  const signers = Object.entries(signed).map(([zone, how]) => {
    const keymgr = (...args: string[]) =>
      execFileSync(getPeer('keymgr'), ['-c', path, `${zone}.`, ...args], { encoding: 'utf8' })
    keymgr('generate', 'algorithm=13', 'ksk=yes', 'zsk=yes')
    return how === 'joined' ? { zone, lines: keymgr('ds') } : { zone, lines: '' }
  })
  for (const [zone, lines] of Object.entries(zones)) {
    const soa = `@ SOA ns.${zone}. hostmaster.${zone}. 1 3600 600 86400 60\n@ NS ns.${zone}.\nns A ${address}\n`
    const below = Object.keys(zones).filter(one => parentOf(one) === zone)
    const delegated = below.map(one => `${one}. NS ns.${one}.\nns.${one}. A ${address}\n`)
    const joined = signers.filter(one => below.includes(one.zone)).map(one => one.lines)
    const text = `$ORIGIN ${zone}.\n$TTL 60\n${soa}${delegated.join('')}${joined.join('')}${lines}\n`
    writeFileSync(join(dir, `${zone}.zone`), text)
  }
  const knot = spawn(getPeer('knot'), ['-c', path], { stdio: ['ignore', 'ignore', 'pipe'] })
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
