import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { DataDirectoryBusy, lockDataDirectory } from '../../store/dialect/lock.ts'

/** The copy of the database that a backup is made of, for as long as that takes. */
export const copyPath = (dataDir: string) => join(dataDir, 'backup.sqlite')

/** Keeps other backups of the same data from being made. @throws DataDirectoryBusy */
export const lockBackups = (dataDir: string) => lockDataDirectory(join(dataDir, 'backup.lock'))

export async function removeCopy(dataDir: string): Promise<void> {
  for (const end of ['', '-wal', '-shm', '-journal']) await rm(`${copyPath(dataDir)}${end}`, { force: true })
}

/** Removes the copy that a backup has left that was killed, and with it all that was deleted since; one that is being made keeps its own. */
export async function removeLeftCopy(dataDir: string): Promise<void> {
  let unlock: () => void
  try {
    unlock = lockBackups(dataDir)
  } catch (error) {
    if (error instanceof DataDirectoryBusy) return
    throw error
  }
  try {
    await removeCopy(dataDir)
  } finally {
    unlock()
  }
}
