import {
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import Database from 'better-sqlite3'

/** Who looks whether the lock is taken holds it up for so short a time that it is waited for. */
const waitMs = 200

/** The first half of the lock of each node on a server; the other half is made of its name. */
export const nodeClass = 0x6e6f6465

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
    const isNew = !existsSync(path)
    closeSync(openSync(path, 'a', 0o600))
    const { ino } = statSync(path)
    const free = lockFile(path)
    // Who held it may have removed the file: what was locked then, nobody else would find.
    const isSame = statSync(path, { throwIfNoEntry: false })?.ino === ino
    const holder = isSame && isNew ? findHolderOfRemoved(path) : undefined
    if (isSame && holder === undefined) return free
    // The next one must look, too.
    if (holder !== undefined) rmSync(path, { force: true })
    free()
    if (holder !== undefined)
      throw new DataDirectoryBusy(
        `another mailboxd runs on this data directory (process ${holder} holds ${path}, which somebody has removed)`,
      )
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

/**
 * The process that has a lock file of this path open which was removed: its lock is on that file, and a new file has none. Only
 * processes that this user may look at are found (Linux, /proc).
 */
function findHolderOfRemoved(path: string): number | undefined {
  const removed = `${join(realpathSync(dirname(path)), basename(path))} (deleted)`
  const processes = namesIn('/proc').filter(name => /^\d+$/.test(name))
  const hasIt = (folder: string) => namesIn(folder).some(name => targetOf(join(folder, name)) === removed)
  const found = processes.find(id => hasIt(`/proc/${id}/fd`))
  return found === undefined ? undefined : Number(found)
}

/** Empty where this user may not look, or it is gone by now. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

function targetOf(link: string): string | undefined {
  try {
    return readlinkSync(link)
  } catch {
    return undefined
  }
}

/** Whether a process holds the lock. */
export function isDataDirectoryLocked(path: string): boolean {
  if (!existsSync(path)) return existsSync(dirname(path)) && findHolderOfRemoved(path) !== undefined
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
