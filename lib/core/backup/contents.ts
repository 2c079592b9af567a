import type { Readable } from 'node:stream'
import { BackupFault } from '../../base/backup-fault.ts'
import { limits } from '../../base/limits.ts'
import { type ArchivedFile, linesOf, readArchive, textOf } from '../../blob/archive.ts'
import { isBlobId } from '../../blob/blob-id.ts'

/** The first file of a backup: what it is. */
export interface BackupHead {
  readonly format: 'mailboxd backup'
  readonly version: 1
  readonly id: string
  /** When the database was as it is in the backup. */
  readonly createdAt: string
  readonly program: string
  /** Large raws that the database points to; and of them those that are in this archive and not in those that it builds on. */
  readonly files: number
  readonly filesHere: number
  /** The backup that has the files that are not here; null: all are here. */
  readonly base: { readonly id: string; readonly createdAt: string } | null
  /** Whether secrets.key is in it. */
  readonly hasKey: boolean
}

/** What stands where in a backup, and below the data directory. */
export const names = { head: 'backup.json', files: 'files.txt', database: 'mailboxd.sqlite' } as const

/** Small files of the data directory that are in a backup where they are there; the first two only with its key. */
export const keyFiles = ['secrets.key', 'secrets.key.next']
export const smallFiles = [
  'node',
  'self-signed.pem',
  'acme/account-key.pem',
  'acme/certificate.pem',
  'acme/standing.json',
]

/** What the file of a raw is called in a backup, as below the data directory. */
export const rawName = (id: string) => `raw/${id.slice(-2)}/${id}`

/** The raw whose file has this name; undefined when it is none. */
export function rawOfName(name: string): string | undefined {
  const id = name.slice(name.lastIndexOf('/') + 1)
  return isBlobId(id) && name === rawName(id) ? id : undefined
}

export interface OpenedBackup {
  /** What it is called in what is said of it. */
  readonly name: string
  readonly head: BackupHead
  /** The large raws that its database points to, by id. */
  readonly files: ReadonlySet<string>
  /** What comes after these two. */
  readonly rest: AsyncGenerator<ArchivedFile>
}

/**
 * Begins to read a backup: what it is and which files belong to it stand at its beginning.
 * @throws BackupFault
 */
export async function openBackup(source: Readable, name: string): Promise<OpenedBackup> {
  const rest = readArchive(source)
  const head = await headOf(await textOf(await nextFile(rest, names.head)))
  const files = new Set<string>()
  for await (const id of linesOf(await nextFile(rest, names.files))) {
    if (!isBlobId(id)) throw new BackupFault(`the archive names a file that can be none: ${id.slice(0, 100)}`)
    if (files.has(id)) throw new BackupFault(`the archive names the file ${id} twice`)
    if (files.size >= limits.backupFiles)
      throw new BackupFault(`the archive names more than ${limits.backupFiles} files`)
    files.add(id)
  }
  return { name, head, files, rest }
}

async function nextFile(archive: AsyncGenerator<ArchivedFile>, name: string): Promise<ArchivedFile> {
  const { value } = await archive.next()
  if (value?.name !== name)
    throw new BackupFault(`this is no backup of mailboxd: it does not begin with ${name}`)
  return value
}

async function headOf(text: string): Promise<BackupHead> {
  let head: BackupHead
  try {
    head = JSON.parse(text)
  } catch (error) {
    throw new BackupFault(`${names.head} of the backup can not be read`, { cause: error })
  }
  if (head?.format !== 'mailboxd backup') throw new BackupFault('this is no backup of mailboxd')
  if (head.version !== 1) {
    const version: unknown = head.version
    throw new BackupFault(
      `the backup is of form ${typeof version === 'number' ? version : 'unknown'}, which this mailboxd does not know: install a newer one`,
    )
  }
  if (!isHead(head))
    throw new BackupFault(`${names.head} of the backup does not say what a backup says of itself`)
  return head
}

function isHead(head: BackupHead): boolean {
  const isText = (...values: readonly unknown[]) => values.every(value => typeof value === 'string')
  const isCount = (...values: readonly unknown[]) =>
    values.every(value => Number.isSafeInteger(value) && Number(value) >= 0)
  const { id, createdAt, program, files, filesHere, base, hasKey } = head
  const isBase = base === null || (typeof base === 'object' && isText(base.id, base.createdAt))
  return isText(id, createdAt, program) && isCount(files, filesHere) && isBase && typeof hasKey === 'boolean'
}
