import { accessSync, constants, type Stats, statSync } from 'node:fs'
import { userInfo } from 'node:os'
import { dirname } from 'node:path'

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

const { R_OK, W_OK, X_OK } = constants

/**
 * The first directory on the way to a file, or the file itself, that this user may not use.
 * @param use whether it is only read, or written and made where it is not there
 */
export function findForbidden(path: string, use: 'read' | 'write'): Forbidden | undefined {
  for (const directory of waysTo(path)) {
    const found = statOf(directory)
    if (found === undefined) return undefined
    if (!isAllowed(directory, X_OK)) return tell(directory, found, 'enter it', 'x')
  }
  const found = statOf(path)
  if (found?.isDirectory()) {
    return isAllowed(path, R_OK | W_OK | X_OK) ? undefined : tell(path, found, 'read and write in it', 'rwx')
  }
  if (found !== undefined) {
    if (use === 'read') return isAllowed(path, R_OK) ? undefined : tell(path, found, 'read it', 'r')
    return isAllowed(path, R_OK | W_OK) ? undefined : tell(path, found, 'read and write it', 'rw')
  }
  const directory = dirname(path)
  const around = statOf(directory)
  if (use === 'read' || around === undefined || isAllowed(directory, W_OK)) return undefined
  return tell(directory, around, 'make files in it', 'rwx')
}

/** The directories that are gone through, the outermost first. */
function waysTo(path: string): string[] {
  const directory = dirname(path)
  return directory === path ? [] : [...waysTo(directory), directory]
}

function tell(path: string, { uid, mode }: Stats, verb: string, rights: 'r' | 'rw' | 'x' | 'rwx'): Forbidden {
  const me = nameOfUser()
  const isOwn = uid === process.getuid?.()
  const whose = isOwn ? me : uid === 0 ? 'root' : `the user ${uid}`
  const octal = (mode & 0o7777).toString(8).padStart(4, '0')
  const message = `${path} belongs to ${whose} and has the mode ${octal}: ${me}, as whom mailboxd runs, may not ${verb}`
  return { path, isOwn, message, paste: pasteOf(path, isOwn, rights) }
}

/** What is only read stays its owner's: a group may read it. */
function pasteOf(path: string, isOwn: boolean, rights: 'r' | 'rw' | 'x' | 'rwx'): string {
  if (isOwn) return `chmod u+${rights} ${path}`
  if (rights === 'r' || rights === 'x') return `chgrp ${nameOfUser()} ${path} && chmod g+${rights} ${path}`
  return `chown ${nameOfUser()}: ${path}`
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

/** What keeps this user from a file that the system refused (EACCES, EPERM), where the error names it. */
export function forbiddenOf(error: unknown): Forbidden | undefined {
  if (!(error instanceof Error && 'code' in error && 'path' in error)) return undefined
  if (!['EACCES', 'EPERM'].includes(String(error.code))) return undefined
  const path = String(error.path)
  return findForbidden(path, 'read') ?? findForbidden(path, 'write')
}

/** The same in a sentence with what mends it. */
export function tellForbidden({ message, paste }: Forbidden): string {
  return `${message}. As root: ${paste}`
}
