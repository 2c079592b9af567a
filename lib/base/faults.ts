import { existsSync, statfsSync } from 'node:fs'
import { forbiddenOf, tellForbidden } from './file-permissions.ts'
import { printableLine } from './text.ts'

/** The pause after a fault of the database before the next attempt. */
export const postgresAgainMs = 500

/**
 * Somebody has written to the database for longer than a write waits for its turn: another process (mailboxctl, a backup), or a thread of
 * this one whose fsync hangs.
 */
export class StorageLocked extends Error {
  override readonly name = 'StorageLocked'

  constructor(options: ErrorOptions) {
    super(
      'another program, or a slow disk, keeps the database locked: try it again, or end that program',
      options,
    )
  }
}

/** The disk failed to keep what was committed; what it holds is not known any more, so nothing more is written. */
export class DiskFailed extends Error {
  override readonly name = 'DiskFailed'
}

/** A commit of which no standby is known to have it. */
export const unreplicated = 'UNREPLICATED'

/**
 * SQLite has found a damaged page of the database, or that the file is no database. From then on nothing is written until a restart;
 * what can be read is read.
 */
export class DatabaseDamaged extends Error {
  override readonly name = 'DatabaseDamaged'
  /** As SQLite gives it: SQLITE_CORRUPT, SQLITE_NOTADB, or an extended one of these. */
  readonly code: string

  constructor(why: string, code: string, options: ErrorOptions = {}) {
    super(why, options)
    this.code = code
  }

  /** Returns this for an error that says so; undefined for any other. */
  static of(error: unknown): DatabaseDamaged | undefined {
    if (error instanceof DatabaseDamaged) return error
    if (!(error instanceof Error && 'code' in error)) return undefined
    const code = String(error.code)
    if (!/^SQLITE_(CORRUPT|NOTADB)/.test(code)) return undefined
    return new DatabaseDamaged(error.message, code, { cause: error })
  }
}

/** What clients are told of a damaged database. */
export const damagedSentence = 'The database of this server is damaged, so nothing is stored or sent.'

/** What keeps a server that is there from it, by the SQLSTATE in which it says so (insufficient_resources and its kin, system errors) or a code of ours. */
const shortages: Readonly<Record<string, string>> = {
  [unreplicated]: 'The server of the database was kept from having its standby keep what was written.',
  '53100': 'The disk of the database is full.',
  '53200': 'The server of the database has no memory left.',
  '53300': 'The server of the database has too many connections.',
}
/** read_only_sql_transaction: a server that somebody set so, or one that was replaced. */
const readOnly = '25006'

/** This machine and the server of the database do not agree upon the time: what one of them decides by it harms all nodes. */
export class ClockApart extends Error {
  override readonly name = 'ClockApart'
  readonly code = clockApart

  /** @param ms how far the server's clock is ahead */
  constructor(ms: number) {
    const seconds = Math.round(Math.abs(ms) / 1000)
    super(
      `the clock of this machine is ${seconds} seconds ${ms > 0 ? 'behind' : 'ahead of'} that of the database's server`,
    )
  }
}

const clockApart = 'CLOCK_APART'

/** Why a server can not be asked, as it crosses into other threads; the code is that of the server or the system. */
export interface Lost {
  readonly lost: string
  readonly code?: string
}

/**
 * The server of the database does not answer, ended the connection, or can do nothing now for want of what it needs: what was asked of
 * it may be done or not.
 */
export class StorageUnreachable extends Error {
  override readonly name = 'StorageUnreachable'
  /** Whether the server is there, and said itself that it can not: others that are asked of it may succeed meanwhile. */
  readonly isShortage: boolean
  /** What clients are told. */
  readonly sentence: string

  /** What is to be said of it in another thread. */
  readonly lost: Lost

  constructor(cause: Error) {
    const code = 'code' in cause ? String(cause.code) : ''
    const isApart = code === clockApart
    super(
      isApart
        ? `${cause.message}: have both follow a time server (timedatectl set-ntp true); it may be the server's that is wrong`
        : `the server of the database can not be asked: ${cause.message}`,
      { cause },
    )
    this.lost = { lost: cause.message, ...(code !== '' && { code }) }
    this.isShortage = /^5[38]...$/.test(code)
    this.sentence = isApart
      ? `${cause.message[0]!.toUpperCase()}${cause.message.slice(1)}.`
      : (shortages[code] ??
        `The server of the database ${this.isShortage ? 'can not work now' : code === readOnly ? 'takes no writes now' : 'does not answer'}.`)
  }

  /** The same in this thread as it was told in another. */
  static of({ lost, code }: Lost): StorageUnreachable {
    return new StorageUnreachable(Object.assign(new Error(lost), code !== undefined && { code }))
  }
}

/** By a bound of the server's own, or by hand. */
const queryCanceled = '57014'
const lockNotAvailable = '55P03'
/** What a server says of a transaction that met others: serialization_failure, deadlock_detected, lock_not_available; and that it gave it up. */
const contentions = ['40001', '40P01', lockNotAvailable, queryCanceled]

/**
 * The server of the database undid what was asked, each time that it was tried, because others change the same or keep it locked:
 * nothing of it is done, and it may succeed later.
 */
export class StorageContended extends Error {
  override readonly name = 'StorageContended'
  /** SQLSTATE */
  readonly code: string
  /** What clients are told. */
  readonly sentence: string

  /** @param code of `cause`, whose message is all that is known where it comes from another thread */
  constructor(cause: Error, code: string) {
    // Who waits in its commit keeps its rows locked, and those behind it say nothing of the standby.
    const why =
      code === lockNotAvailable
        ? ' (by hand, or by a commit that waits for its standby: mailboxctl doctor)'
        : ''
    super(`the database did not come to it: ${cause.message}${why}`, { cause })
    this.code = code
    this.sentence =
      code === queryCanceled
        ? 'The server of the database ended it (statement_timeout, or somebody by hand). Nothing was done.'
        : 'Others change the same in the database, or keep it locked. Nothing was done.'
  }

  /** What is to be told of a failure: this, where that is why. */
  static of(error: unknown): unknown {
    if (!(error instanceof Error && 'code' in error) || error instanceof StorageContended) return error
    const code = String(error.code)
    return contentions.includes(code) ? new StorageContended(error, code) : error
  }
}

/** What may well be done when it is asked for again: others hold what it needs, or the server of the database is away. */
type StoragePassing = StorageLocked | StorageUnreachable | StorageContended

export function isStoragePassing(error: unknown): error is StoragePassing {
  return (
    error instanceof StorageLocked || error instanceof StorageUnreachable || error instanceof StorageContended
  )
}

/** A file of the database is not this user's to read and write; the message is a sentence with the repair. */
export class StorageForbidden extends Error {
  override readonly name = 'StorageForbidden'
}

/** No room on the disk, or no more for this user, as the system and SQLite say it; the last one while SQLite makes room in shared memory. */
const fullCodes = ['ENOSPC', 'EDQUOT', 'SQLITE_FULL', 'SQLITE_IOERR_SHMSIZE']

/** Whether it failed because of the disk or the database's server, and not of what was to be written. */
export function isStorageFault(error: unknown): boolean {
  if (isDiskFull(error) || error instanceof StorageUnreachable || error instanceof DatabaseDamaged)
    return true
  return (
    error instanceof Error &&
    'code' in error &&
    /^(SQLITE_(IOERR|READONLY|CANTOPEN)|EIO|EROFS)/.test(String(error.code))
  )
}

/** Whether it failed because the disk is full, which makes room heal without a restart. */
export function isDiskFull(error: unknown): boolean {
  return error instanceof Error && 'code' in error && fullCodes.includes(String(error.code))
}

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

/** The database is of another version of mailboxd than this program; the message is a sentence with what to do. */
export class SchemaFault extends Error {
  override readonly name: string = 'SchemaFault'
}

/** A development version from before the first release made the database: no program opens it, however often it is started. */
export class UnreleasedSchema extends SchemaFault {
  override readonly name = 'UnreleasedSchema'
}

/** A backup can't be made, read or restored; the message is a sentence with the repair, or says what is damaged. */
export class BackupFault extends Error {
  override readonly name = 'BackupFault'

  /** @param sentence may have names in it that stand in a backup: they stay on its line */
  constructor(sentence: string, options?: ErrorOptions) {
    super(printableLine(sentence), options)
  }
}

/** Where large messages lie is not to be had: the bucket did not answer, or not as it should, or the disk is not mounted. */
export class BlobsFault extends Error {
  override readonly name: string = 'BlobsFault'
}

/** The bucket does not answer, or says no: an outage, which is told by who asks it. */
export class BucketOut extends BlobsFault {
  override readonly name = 'BucketOut'
}

/** The bytes of a large message are not where this node looks, and another node may have them on its disk. */
export class BytesElsewhere extends BlobsFault {
  override readonly name = 'BytesElsewhere'

  constructor() {
    super('The bytes of this message are not in the bucket; another node may have them on its disk.')
  }
}
