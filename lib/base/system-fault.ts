import { existsSync, statfsSync } from 'node:fs'
import { BucketOut } from './blobs-fault.ts'
import { forbiddenOf, tellForbidden } from './forbidden.ts'
import { isDiskFull, StorageContended, StorageUnreachable } from './storage-fault.ts'

const failing = 'the disk fails: look at what the kernel says (dmesg), and have a backup at hand'

/**
 * What the operator does about a fault of the system or of SQLite, by the beginning of its code, and whether it is one of the machine:
 * the others may be one of who asks.
 */
const advice: readonly (readonly [code: string, text: string, of?: 'machine'])[] = [
  ['EACCES', 'this user may not: run it as root, or as the user that mailboxd runs as'],
  ['EPERM', 'this user may not: run it as root, or as the user that mailboxd runs as'],
  [
    'SQLITE_CANTOPEN',
    'this user may not open the database in the data directory, or it is gone: run it as root, or as the user that mailboxd runs as',
  ],
  ['EROFS', 'the file system may only be read: mount it for writing', 'machine'],
  ['SQLITE_READONLY', 'the database may only be read: look at its file system and at who may write it'],
  ['SQLITE_CORRUPT', damaged(), 'machine'],
  ['SQLITE_NOTADB', damaged(), 'machine'],
  ['SQLITE_IOERR', failing, 'machine'],
  ['EIO', failing, 'machine'],
  [
    'SQLITE_BUSY',
    'another program, or a slow disk, keeps the database locked: try it again, or end that program',
  ],
  ['EMFILE', 'too many files are open: allow more (LimitNOFILE= of the unit, ulimit -n)', 'machine'],
  ['ENOENT', 'it is not there: look at how it is written'],
  ['ENOTDIR', 'a part of that path is a file'],
  ['EISDIR', 'that is a folder: name a file in it'],
  ['EADDRINUSE', 'end that program, or give mailboxd another port'],
  ['EADDRNOTAVAIL', 'this machine does not have that address: ip address shows those that it has'],
]

function adviceOn(error: unknown): (typeof advice)[number] | undefined {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return advice.find(([begin]) => code.startsWith(begin))
}

function damaged(): string {
  return 'the database is damaged: stop mailboxd, keep a copy of the file, and restore the last backup (mailboxctl restore)'
}

/** Whether it failed because of the machine, whatever was asked: a disk that is full or fails, a damaged database, a server of the database, or a bucket, that can not be asked. */
export function isMachineFault(error: unknown): boolean {
  const isOfServer = error instanceof StorageUnreachable || error instanceof StorageContended
  return isDiskFull(error) || isOfServer || error instanceof BucketOut || adviceOn(error)?.[2] === 'machine'
}

/** Whether a file system with a fixed number of inodes has none left: then no file can be made, however much room there is. */
export function hasNoInodes(folder: string): boolean {
  try {
    const { files, ffree } = statfsSync(folder)
    return files > 0 && ffree === 0
  } catch {
    return false
  }
}

/** The same error, or ENOSPC where SQLite could not open a file because there are no inodes left in its folder. */
export function withInodes(error: unknown, folder: string): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (!code.startsWith('SQLITE_CANTOPEN') || !hasNoInodes(folder)) return error
  return Object.assign(new Error(`the file system of ${folder} has no inodes left`, { cause: error }), {
    code: 'ENOSPC',
  })
}

/** Where systemd puts what a unit is given, as long as it runs. */
const credentials = '/run/credentials/'

/** Of a file that is there while the unit runs alone, when it does not, that it is so; the sentence goes on. */
export function tellNotRunning(path: string): string | undefined {
  if (!path.startsWith(credentials) || existsSync(path)) return undefined
  return `${path} is there while the unit runs alone`
}

const lowPort =
  'a port below 1024 is not for every user: as root, sysctl -w net.ipv4.ip_unprivileged_port_start=25 (for good in a file of /etc/sysctl.d), or name a higher port'

function toldByPath(error: Error): string | undefined {
  const later = 'path' in error ? tellNotRunning(String(error.path)) : undefined
  if (later !== undefined)
    return `${later} (a credential of systemd): start mailboxd, or name a file that stays`
  const forbidden = forbiddenOf(error, undefined)
  // Of what is another's, root or that one may say more.
  return forbidden?.isOwn ? tellForbidden(forbidden) : undefined
}

/** What happened and what can be done about it, in a sentence; undefined for what is no fault of the system but may be one of ours. */
export function tellSystemFault(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined
  const told = toldByPath(error)
  if (told !== undefined) return told
  const code = String(error.code)
  const what = isDiskFull(error)
    ? 'the disk is full, has no inodes left, or this user has no more room: make some (df -h and df -i show where)'
    : code === 'EACCES' && 'syscall' in error && error.syscall === 'listen'
      ? lowPort
      : adviceOn(error)?.[1]
  return what === undefined
    ? undefined
    : `${error.message.replace(/^(?:listen )?E[A-Z]+: /, '')} (${code}): ${what}`
}
