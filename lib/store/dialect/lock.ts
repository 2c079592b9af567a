import { closeSync, existsSync, openSync, statSync } from 'node:fs'
import Database from 'better-sqlite3'

/** Who looks whether the lock is taken holds it up for so short a time that it is waited for. */
const waitMs = 200

/** Another daemon works on this data directory. */
export class DataDirectoryBusy extends Error {
  override readonly name = 'DataDirectoryBusy'
}

/**
 * Takes the one lock of a data directory for as long as this process lives; the system lets go of it when the process
 * dies, however it dies. Gives the function that lets go.
 * @param path the lock file, made when missing
 * @throws DataDirectoryBusy
 */
export function lockDataDirectory(path: string): () => void {
  for (;;) {
    closeSync(openSync(path, 'a', 0o600))
    const { ino } = statSync(path)
    const free = lockFile(path)
    // Who held it may have removed the file: what was locked then, nobody else would find.
    if (statSync(path, { throwIfNoEntry: false })?.ino === ino) return free
    free()
  }
}

function lockFile(path: string): () => void {
  const database = new Database(path, { timeout: waitMs })
  try {
    database.exec('begin exclusive')
  } catch (error) {
    database.close()
    if (error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY')) {
      throw new DataDirectoryBusy(`another mailboxd runs on this data directory (it holds ${path})`)
    }
    throw error
  }
  return () => database.close()
}

/** Whether a process holds the lock. */
export function isDataDirectoryLocked(path: string): boolean {
  if (!existsSync(path)) return false
  const database = new Database(path, { timeout: 0, readonly: true })
  try {
    database.prepare('select 1 from sqlite_master').all()
    return false
  } catch (error) {
    if (error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY')) return true
    throw error
  } finally {
    database.close()
  }
}
