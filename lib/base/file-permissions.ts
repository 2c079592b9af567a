import { accessSync, constants, readdirSync, readFileSync, type Stats, statSync } from 'node:fs'
import { userInfo } from 'node:os'
import { dirname, join, sep } from 'node:path'
import { shellWord } from './text.ts'

/** What stands at a path, or on the way to it, that this user may not use. */
export interface Forbidden {
  readonly path: string
  /** Whether it belongs to this user, who may mend it. */
  readonly isOwn: boolean
  readonly message: string
  /** The command of root that mends it. */
  readonly paste: string
}

/** Of this process; a number where it has no name, as in a container. */
export function nameOfUser(): string {
  try {
    return userInfo().username
  } catch {
    return String(process.getuid?.())
  }
}

/** Of its login: its name where /etc/group has it, for that of nobody is nogroup, and of others users; a number is as good. */
function nameOfGroup(): string {
  const id = loginGroup()
  try {
    const groups = readFileSync('/etc/group', 'utf8')
      .split('\n')
      .map(line => line.split(':'))
    return groups.find(([, , number]) => number === id)?.[0] ?? id
  } catch {
    return id
  }
}

function loginGroup(): string {
  try {
    return String(userInfo().gid)
  } catch {
    return String(process.getgid?.())
  }
}

const { R_OK, W_OK, X_OK } = constants

/**
 * The first directory on the way to a file, or the file itself, that this user may not use.
 * @param use whether it is only read, or written and made where it is not there
 * @param dataDir where it is known: all that lies in there is to belong to this user
 */
export function findForbidden(
  path: string,
  use: 'read' | 'write',
  dataDir: string | undefined,
): Forbidden | undefined {
  let around = path
  for (const directory of waysTo(path)) {
    const found = statOf(directory)
    if (found === undefined) break
    // What the system says of that says enough.
    if (!found.isDirectory()) return undefined
    if (!isAllowed(directory, X_OK)) {
      const isAboveData = isIn(dataDir, path) && !isIn(dataDir, directory)
      const forbidden = tell(directory, found, ['enter it', 'x'], dataDir)
      return isAboveData ? elsewhere(forbidden) : forbidden
    }
    around = directory
  }
  const found = statOf(path)
  if (found !== undefined && path === dataDir && !found.isDirectory())
    return elsewhere({
      path,
      isOwn: false,
      message: `${path} is a file, and data_dir is a directory`,
      paste: '',
    })
  if (found?.isDirectory()) {
    const isUsable = isAllowed(path, R_OK | W_OK | X_OK)
    return isUsable ? undefined : tell(path, found, ['read and write in it', 'rwx'], dataDir)
  }
  if (found !== undefined) {
    if (use === 'read')
      return isAllowed(path, R_OK) ? undefined : tell(path, found, ['read it', 'r'], dataDir)
    return isAllowed(path, R_OK | W_OK) ? undefined : tell(path, found, ['read and write it', 'rw'], dataDir)
  }
  const above = statOf(around)
  if (use === 'read' || above === undefined || isAllowed(around, W_OK)) return undefined
  const isOurs = above.uid === process.getuid?.() || isIn(dataDir, around)
  return isOurs ? tell(around, above, ['make files in it', 'rwx'], dataDir) : tellMissing(path)
}

/** The directories that are gone through, the outermost first. */
function waysTo(path: string): string[] {
  const directory = dirname(path)
  return directory === path ? [] : [...waysTo(directory), directory]
}

function isIn(dataDir: string | undefined, path: string): boolean {
  if (dataDir === undefined) return false
  return path === dataDir || path.startsWith(dataDir.endsWith(sep) ? dataDir : `${dataDir}${sep}`)
}

type Rights = 'r' | 'rw' | 'x' | 'rwx'

function tell(
  path: string,
  { uid, mode }: Stats,
  [verb, rights]: readonly [verb: string, rights: Rights],
  dataDir: string | undefined,
): Forbidden {
  const me = nameOfUser()
  const isOwn = uid === process.getuid?.()
  const whose = isOwn ? me : uid === 0 ? 'root' : `the user ${uid}`
  const octal = (mode & 0o7777).toString(8).padStart(4, '0')
  const message = `${path} belongs to ${whose} and has the mode ${octal}: ${me}, as whom mailboxd runs, may not ${verb}`
  if (isOwn) return { path, isOwn, message, paste: `chmod u+${rights} ${shellWord(path)}` }
  if (path === dataDir && holdsOther(path)) {
    const inside = join(path, 'mailboxd')
    const better = `${message}, and it holds other things: let data_dir be a directory in it, such as "${inside}"`
    return { path, isOwn, message: better, paste: pasteOfNew(inside) }
  }
  return { path, isOwn, message, paste: pasteOf(path, rights, dataDir) }
}

/** What is only read stays its owner's: a group may read it. Of the data directory all is the daemon's. */
function pasteOf(path: string, rights: Rights, dataDir: string | undefined): string {
  const me = nameOfUser()
  if (dataDir !== undefined && isIn(dataDir, path)) return `chown -R ${me}: ${shellWord(dataDir)}`
  if (rights === 'r' || rights === 'x')
    return `chgrp ${nameOfGroup()} ${shellWord(path)} && chmod g+${rights} ${shellWord(path)}`
  return `chown ${me}: ${shellWord(path)}`
}

/** What is another's, such as the home of root, is not opened for the daemon's data, and no file of the system given away for them. */
function elsewhere({ message, ...forbidden }: Forbidden): Forbidden {
  const place = '/var/lib/mailboxd'
  const better = `${message}. Let it be a directory of ${nameOfUser()}, such as ${place} (data_dir, in local mode --data)`
  return { ...forbidden, message: better, paste: pasteOfNew(place) }
}

/** Where the directory that it would be made in is another's, that one stays as it is: it may be the one of all. */
function tellMissing(path: string): Forbidden {
  const message = `${path} is not there, and ${nameOfUser()}, as whom mailboxd runs, may not make it (where it is on a disk of its own, mount that)`
  return { path, isOwn: false, message, paste: pasteOfNew(path) }
}

function pasteOfNew(directory: string): string {
  return `install -d -m 700 -o ${nameOfUser()} -g ${nameOfGroup()} ${shellWord(directory)}`
}

/** What an installation has in its data directory, one of which is there from the first start on. */
const ofInstallation = ['mailboxd.sqlite', 'secrets.key', 'daemon.lock', 'running.json', 'raw']

/** Whether it is no data directory: nobody wants that of the system, or one with files of others, to become the daemon's. */
function holdsOther(directory: string): boolean {
  try {
    const names = readdirSync(directory)
    return names.some(name => name !== 'lost+found') && !ofInstallation.some(name => names.includes(name))
  } catch {
    // Nobody sees what is in it: one such as /root is not given away.
    return dirname(dirname(directory)) === dirname(directory)
  }
}

function statOf(path: string): Stats | undefined {
  try {
    return statSync(path)
  } catch {
    return undefined
  }
}

function isAllowed(path: string, rights: number): boolean {
  try {
    accessSync(path, rights)
    return true
  } catch (error) {
    // A file system that may only be read is told by who writes to it.
    return !(error instanceof Error && 'code' in error && error.code === 'EACCES')
  }
}

/** What keeps this user from a file that the system refused (EACCES, EPERM), where the error names it. @param dataDir as of `findForbidden` */
export function forbiddenOf(error: unknown, dataDir: string | undefined): Forbidden | undefined {
  if (!(error instanceof Error && 'code' in error && 'path' in error)) return undefined
  if (!['EACCES', 'EPERM'].includes(String(error.code))) return undefined
  const path = String(error.path)
  return findForbidden(path, 'read', dataDir) ?? findForbidden(path, 'write', dataDir)
}

/** The same in a sentence with what mends it. */
export function tellForbidden({ message, paste }: Forbidden): string {
  return `${message}. As root: ${paste}`
}
