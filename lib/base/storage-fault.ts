/** Another process (mailboxctl, a backup) has written to the database for longer than a write waits for its turn. */
export class StorageLocked extends Error {
  override readonly name = 'StorageLocked'

  constructor(options: ErrorOptions) {
    super('another program keeps the database locked', options)
  }
}

/** What a server that is there is short of, by the SQLSTATE in which it says so: insufficient_resources and its kin, system errors. */
const shortages: Readonly<Record<string, string>> = {
  '53100': 'The disk of the database is full.',
  '53200': 'The server of the database has no memory left.',
  '53300': 'The server of the database has too many connections.',
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

  constructor(cause: Error) {
    super(`the server of the database can not be asked: ${cause.message}`, { cause })
    const code = 'code' in cause ? String(cause.code) : ''
    this.isShortage = /^5[38]...$/.test(code)
    this.sentence =
      shortages[code] ??
      `The server of the database ${this.isShortage ? 'can not work now' : 'does not answer'}.`
  }
}

/** A file of the database is not this user's to read and write; the message is a sentence with the repair. */
export class StorageForbidden extends Error {
  override readonly name = 'StorageForbidden'
}

/** No room on the disk, or no more for this user, as the system and SQLite say it; the last one while SQLite makes room in shared memory. */
const fullCodes = ['ENOSPC', 'EDQUOT', 'SQLITE_FULL', 'SQLITE_IOERR_SHMSIZE']

/** Whether it failed because of the disk or the database's server, and not of what was to be written. */
export function isStorageFault(error: unknown): boolean {
  if (isDiskFull(error) || error instanceof StorageUnreachable) return true
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
