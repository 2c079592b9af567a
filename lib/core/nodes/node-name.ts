import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createFile } from '../../base/files.ts'
import { Problem } from '../../base/problem.ts'
import { randomBase36 } from '../../base/secrets.ts'
import { DataDirectoryBusy, lockDataDirectory } from '../../store/dialect/lock.ts'

const nameLength = 16

/**
 * The name in which this node holds leases: that of its data directory, made at the first start and the same for good, so
 * that it finds its own leases whatever the server is called.
 */
export async function nodeName(dataDir: string): Promise<string> {
  const path = join(dataDir, 'node')
  if (!existsSync(path)) await createFile(path, `${randomBase36(nameLength)}\n`)
  return (await readFile(path, 'utf8')).trim()
}

/** The lock that a daemon holds as long as it lives. */
export const daemonLockPath = (dataDir: string) => join(dataDir, 'daemon.lock')

/**
 * Keeps a daemon from starting until the function that it gives is called.
 * @param why it may not run, in a sentence for the operator
 * @throws Problem `unavailable` when one runs
 */
export function lockWhileStopped(dataDir: string, why: string): () => void {
  try {
    return lockDataDirectory(daemonLockPath(dataDir))
  } catch (error) {
    if (!(error instanceof DataDirectoryBusy)) throw error
    throw new Problem('unavailable', why)
  }
}
