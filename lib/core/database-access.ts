import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { nameOfUser } from '../base/forbidden.ts'

/** A file of the database that whom the data directory belongs to may not use. */
export interface ForbiddenFile {
  readonly path: string
  readonly message: string
  /** The command of root that mends it. */
  readonly paste: string
}

/**
 * The first file of a SQLite database that this user may not read and write although the directory is this user's: somebody else left
 * it, or restored it. Undefined: there is none, or the directory is another's, too.
 * @param database the path of its file
 */
export async function findForbiddenFile(database: string): Promise<ForbiddenFile | undefined> {
  const owner = await stat(dirname(database)).catch(() => undefined)
  if (owner === undefined || owner.uid !== process.getuid?.()) return undefined
  for (const path of [database, `${database}-wal`, `${database}-shm`]) {
    const found = await stat(path).catch(() => undefined)
    if (found === undefined || (await isAllowed(path))) continue
    const whose = found.uid === 0 ? 'root' : found.uid === owner.uid ? nameOfUser() : `the user ${found.uid}`
    const mode = (found.mode & 0o7777).toString(8).padStart(4, '0')
    const message = `${path} belongs to ${whose} and has the mode ${mode}: ${nameOfUser()}, whose data this is and as whom mailboxd runs, may not read and write it`
    // Of its three files the others may be whoever's, too.
    const files = `${database}*`
    const paste = found.uid === owner.uid ? `chmod u+rw ${files}` : `chown ${nameOfUser()}: ${files}`
    return { path, message, paste }
  }
  return undefined
}

async function isAllowed(path: string): Promise<boolean> {
  try {
    await access(path, constants.R_OK | constants.W_OK)
    return true
  } catch (error) {
    // A file system that may only be read is told by who writes to it.
    return !(error instanceof Error && 'code' in error && error.code === 'EACCES')
  }
}
