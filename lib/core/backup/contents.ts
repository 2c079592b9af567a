import type { Readable } from 'node:stream'
import { BackupFault } from '../../base/faults.ts'
import { type ArchivedFile, readArchive, textOf } from '../../blob/archive.ts'
import { isBlobId } from '../../blob/blob-id.ts'

/** The first file of a backup: what it is. */
export interface BackupHead {
  readonly format: 'mailboxd backup'
  readonly version: 1
  /** When the database was as it is in the backup. */
  readonly createdAt: string
  readonly program: string
  /** How many files the database points to. */
  readonly files: number
  /** Whether secrets.key is in it. */
  readonly hasKey: boolean
}

/** What stands where in a backup, and below the data directory. */
export const names = { head: 'backup.json', database: 'mailboxd.sqlite' } as const

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
  /** The files after the head. */
  readonly rest: AsyncGenerator<ArchivedFile>
}

/** Begins to read a backup: its first file says what it is. @throws BackupFault */
export async function openBackup(source: Readable, name: string): Promise<OpenedBackup> {
  const rest = readArchive(source)
  const { value } = await rest.next()
  if (value?.name !== names.head)
    throw new BackupFault(`this is no backup of mailboxd: it does not begin with ${names.head}`)
  return { name, head: await headOf(await textOf(value)), rest }
}

async function headOf(text: string): Promise<BackupHead> {
  let head: BackupHead
  try {
    head = JSON.parse(text)
  } catch (error) {
    throw new BackupFault(`${names.head} of the backup cannot be read`, { cause: error })
  }
  if (head?.format !== 'mailboxd backup') throw new BackupFault('this is no backup of mailboxd')
  if (head.version !== 1) {
    const version: unknown = head.version
    throw new BackupFault(
      `the backup has the format ${typeof version === 'number' ? version : 'unknown'}, which this mailboxd does not know: install a newer one`,
    )
  }
  if (!isHead(head))
    throw new BackupFault(`${names.head} of the backup does not say what a backup says of itself`)
  return head
}

function isHead({ createdAt, program, files, hasKey }: BackupHead): boolean {
  return (
    [createdAt, program].every(value => typeof value === 'string') &&
    Number.isSafeInteger(files) &&
    files >= 0 &&
    typeof hasKey === 'boolean'
  )
}
