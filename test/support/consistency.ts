import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../../lib/base/time.ts'
import { openDisk } from '../../lib/blob/disk.ts'
import { type Finding, type OpenBlobs, verify } from '../../lib/core/backup/verify.ts'
import { databasePath } from '../../lib/core/open-rows.ts'
import { until } from './until.ts'

/** Longer than any test: no event of it is swept. */
const eventsKeptMs = 7 * 86_400_000

/** The servers with the rows of those data directories that have no file with them. */
const servers = new Map<string, string>()

/** Has the rows of a data directory asked of this server, or of its file. */
export function noteServer(dataDir: string, location: string | undefined): void {
  if (location === undefined) servers.delete(dataDir)
  else servers.set(dataDir, location)
}

/** Where the large messages of those data directories are that a daemon of the tests has; on their disks otherwise. */
const blobsOfDaemons = new Map<string, OpenBlobs>()

/** Has the large messages of a data directory asked of what its daemon has them in. */
export function noteBlobs(dataDir: string, openBlobs: OpenBlobs): void {
  blobsOfDaemons.set(dataDir, openBlobs)
}

const knownBlobs = (dataDir: string): OpenBlobs => blobsOfDaemons.get(dataDir) ?? (() => openDisk(dataDir))

function look(dataDir: string, openBlobs: OpenBlobs): Promise<Finding[]> {
  const location = servers.get(dataDir)
  return verify({ dataDir, ...(location && { location }), openBlobs, clock: systemClock, eventsKeptMs })
}

/** What contradicts itself still after a start has had its time to clean up. */
export async function settledContradictions(
  dataDir: string,
  openBlobs: OpenBlobs = knownBlobs(dataDir),
): Promise<string[]> {
  let found: string[] = []
  const isSettled = async () => {
    found = await findContradictions(dataDir, openBlobs)
    return found.length === 0
  }
  await until('nothing to contradict itself', isSettled).catch(error => {
    if (found.length === 0) throw error
  })
  return found
}

/**
 * Everything that contradicts itself in a data directory, as `mailboxctl verify` finds it, and spool files. Nothing of it may ever
 * be there, whenever the daemon was killed. Asked while the daemon runs and nothing is under way, or while it is down.
 */
export async function findContradictions(
  dataDir: string,
  openBlobs: OpenBlobs = knownBlobs(dataDir),
): Promise<string[]> {
  const findings = await look(dataDir, openBlobs)
  const spooled = readdirSync(join(dataDir, 'spool'))
  return [...findings.map(describe), ...spooled.map(name => `spool file ${name}`)]
}

const describe = ({ check, subject, found }: Finding) => `${check}: ${subject} ${found}`

/** How a daemon's process ended: after a kill, files that were under way are there until the next start. */
export type End = 'stopped' | 'killed'

/**
 * Asks after the end of a process that had this data directory.
 * @throws Error that names what contradicts itself
 */
export async function requireConsistency(dataDir: string, end: End, openBlobs: OpenBlobs): Promise<void> {
  const database = databasePath(dataDir)
  if (!existsSync(database) && !servers.has(dataDir)) return
  const beside = ['-wal', '-shm'].map(end => `${database}${end}`).filter(path => !existsSync(path))
  const found =
    end === 'stopped'
      ? await findContradictions(dataDir, openBlobs)
      : (await look(dataDir, openBlobs)).filter(({ found }) => found !== 'has no row').map(describe)
  // Who reads makes these, and what the daemon left is asked after this.
  for (const path of beside) rmSync(path, { force: true })
  if (found.length > 0) throw new Error(`${dataDir} contradicts itself: ${found.join('; ')}`)
}

/**
 * Asks while a daemon runs, as soon as what it has under way is done.
 * @throws Error that names what contradicts itself
 */
export async function requireSettled(dataDir: string, openBlobs: OpenBlobs): Promise<void> {
  const found = await settledContradictions(dataDir, openBlobs)
  if (found.length > 0) throw new Error(`${dataDir} contradicts itself: ${found.join('; ')}`)
}
