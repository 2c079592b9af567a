import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../../lib/base/clock.ts'
import { openDisk } from '../../lib/blob/disk.ts'
import { verify } from '../../lib/core/backup/verify.ts'
import { until } from './until.ts'

/** Longer than any test: no event of it is swept. */
const eventsKeptMs = 7 * 86_400_000

/** What contradicts itself still after a start has had its time to clean up. */
export async function settledContradictions(dataDir: string): Promise<string[]> {
  let found: string[] = []
  const look = async () => {
    found = await findContradictions(dataDir)
    return found.length === 0
  }
  await until('nothing to contradict itself', look).catch(error => {
    if (found.length === 0) throw error
  })
  return found
}

/**
 * Everything that contradicts itself in a data directory, as `mailboxctl verify` finds it, and spool files. Nothing of it may ever
 * be there, whenever the daemon was killed. Asked while the daemon runs and nothing is under way, or while it is down.
 */
export async function findContradictions(dataDir: string): Promise<string[]> {
  const findings = await verify({
    dataDir,
    openBlobs: () => openDisk(dataDir),
    clock: systemClock,
    eventsKeptMs,
  })
  const spooled = readdirSync(join(dataDir, 'spool'))
  return [
    ...findings.map(({ check, subject, found }) => `${check}: ${subject} ${found}`),
    ...spooled.map(name => `spool file ${name}`),
  ]
}
