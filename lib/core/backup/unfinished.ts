import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { BackupFault } from '../../base/faults.ts'
import { createFile } from '../../base/files.ts'
import { isDataDirectoryLocked } from '../../store/dialect/lock.ts'
import { daemonLockPath } from '../nodes/node-name.ts'
import { keyFiles, names, smallFiles } from './contents.ts'

const markName = 'restore.unfinished'

/** Where a database stands while it is not compared with itself and its files. */
export const arrivingPath = (dataDir: string) => join(dataDir, `${names.database}.restoring`)

const databases = [names.database, `${names.database}.restoring`]

/** All that a restore may leave at the top of a data directory: of the archive, and of who opens what came of it. */
const leavings = new Set([
  ...databases.flatMap(name => ['', '-wal', '-shm', '-journal'].map(end => `${name}${end}`)),
  ...[...keyFiles, ...smallFiles].map(name => name.split('/')[0]!),
  'raw',
  'raw.used',
  'spool',
  'cache',
])

/** Whether what stands in a data directory is half of a restored backup. */
export function isUnfinished(dataDir: string): boolean {
  return existsSync(join(dataDir, markName))
}

/** Whether a restore that was cut off has this at the top of a data directory, or who holds its lock. */
export function isLeaving(name: string): boolean {
  return leavings.has(name) || name.startsWith(markName)
}

/** Says, on the disk, that what comes now is half of an installation. */
export async function markUnfinished(dataDir: string): Promise<void> {
  await createFile(join(dataDir, markName), 'mailboxctl restore has not come to its end here\n')
}

/** It is whole. The caller syncs the folder. */
export async function markFinished(dataDir: string): Promise<void> {
  await rm(join(dataDir, markName))
}

/** Removes what a restore has left, and last what says so: who is cut off in this is not taken for whole either. */
export async function removeLeavings(dataDir: string): Promise<void> {
  for (const name of leavings) await rm(join(dataDir, name), { recursive: true, force: true })
  await rm(join(dataDir, markName), { force: true })
}

/** Nobody makes a new installation out of half of one. @throws BackupFault with what to do */
export function requireFinished(dataDir: string): void {
  if (!isUnfinished(dataDir)) return
  throw new BackupFault(
    isDataDirectoryLocked(daemonLockPath(dataDir))
      ? `a backup is being restored into ${dataDir}: wait until mailboxctl restore has come to its end`
      : `a restore into ${dataDir} was cut off, and what is there is half of an installation: run mailboxctl restore again, which first removes what is left of it, or empty that directory`,
  )
}
