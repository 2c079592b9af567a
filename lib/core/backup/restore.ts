import { createWriteStream, existsSync } from 'node:fs'
import { link, mkdir, open, readdir, readFile, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { BackupFault } from '../../base/backup-fault.ts'
import { limits } from '../../base/limits.ts'
import { UnreleasedSchema } from '../../base/schema-fault.ts'
import { createSecretBox } from '../../base/secret-box.ts'
import { isStorageFault } from '../../base/storage-fault.ts'
import type { ArchivedFile } from '../../blob/archive.ts'
import type { Db } from '../../store/dialect/dialect.ts'
import { findDamage } from '../../store/dialect/integrity.ts'
import { DataDirectoryBusy, isDataDirectoryLocked, lockDataDirectory } from '../../store/dialect/lock.ts'
import { findBroken, idInvariant } from '../../store/invariants.ts'
import { findStrangeSchema, type StrangeSchema } from '../../store/migrations/expected-schema.ts'
import { openReader } from '../../store/open.ts'
import { findSecretKey } from '../../store/secrets.ts'
import { readNextKey, readSecretKey, SecretKeyFault } from '../app/secret-key.ts'
import { daemonLockPath } from '../nodes/node-name.ts'
import type { Progress } from './backup.ts'
import {
  type BackupHead,
  keyFiles,
  names,
  type OpenedBackup,
  rawName,
  rawOfName,
  smallFiles,
} from './contents.ts'
import {
  arrivingPath,
  isLeaving,
  isUnfinished,
  markFinished,
  markUnfinished,
  removeLeavings,
} from './unfinished.ts'
import { findMissingFiles, type OpenBlobs } from './verify.ts'

export interface RestoreParts {
  readonly dataDir: string
  /** Where large raws are, of the installation with this database: what a bucket has is not missing. */
  readonly openBlobs: OpenBlobs
  /** Leaves the directory as it was when it is aborted before the end. */
  readonly signal: AbortSignal
  readonly told: Progress
}

export interface RestoreReport extends BackupHead {
  readonly filesRestored: number
  /** Files that rows point to and that no archive has: they were missing when the backup was made. */
  readonly missing: readonly string[]
}

/**
 * Puts the newest of these backups into a data directory that is empty, with the files of those that it builds on. What is
 * damaged or not whole leaves the directory as it was. The database comes to its place last, when all was compared with the
 * checksums, the database with itself, and each row with its file. No daemon starts meanwhile, nor on what is left where this is cut off,
 * which the next call removes.
 * @throws BackupFault when the directory is not empty, or a backup is missing or damaged; UnreleasedSchema
 */
export async function restoreBackup(
  parts: RestoreParts,
  backups: readonly OpenedBackup[],
): Promise<RestoreReport> {
  const { dataDir } = parts
  const chain = chainOf(backups)
  // Before the lock, too: it is not to be made in what is somebody else's.
  await requireEmpty(dataDir)
  const unlock = lock(dataDir)
  try {
    await requireEmpty(dataDir)
    await removeLeavings(dataDir)
    await markUnfinished(dataDir)
    return await restore(parts, chain)
  } catch (error) {
    if (isUnfinished(dataDir)) await removeLeavings(dataDir)
    if ((await contentsOf(dataDir)).length === 0) await rm(daemonLockPath(dataDir), { force: true })
    throw error
  } finally {
    unlock()
  }
}

/** Keeps daemons out until the function that it gives is called. @throws BackupFault */
function lock(dataDir: string): () => void {
  try {
    return lockDataDirectory(daemonLockPath(dataDir))
  } catch (error) {
    if (!(error instanceof DataDirectoryBusy)) throw error
    throw new BackupFault(atWork(dataDir))
  }
}

const atWork = (dataDir: string) =>
  `mailboxd, or another restore, is at work in ${dataDir}: stop it first (systemctl stop 'mailboxd*.socket' mailboxd)`

/** The newest first, and after each the one that it builds on. */
function chainOf(backups: readonly OpenedBackup[]): OpenedBackup[] {
  const others = new Map(backups.map(one => [one.head.id, one]))
  const newest = backups.toSorted((one, other) => (one.head.createdAt < other.head.createdAt ? 1 : -1))[0]!
  const chain: OpenedBackup[] = []
  let next: OpenedBackup | undefined = newest
  while (next) {
    chain.push(next)
    others.delete(next.head.id)
    const { base }: BackupHead = next.head
    if (!base) break
    next = others.get(base.id)
    if (!next) {
      throw new BackupFault(
        `the backup of ${chain.at(-1)!.head.createdAt} builds on that of ${base.createdAt} (${base.id}), which was not given: name all of them`,
      )
    }
  }
  const [unneeded] = others.values()
  if (unneeded) {
    throw new BackupFault(
      `the backup of ${newest.head.createdAt} does not build on that of ${unneeded.head.createdAt}: leave it out`,
    )
  }
  return chain
}

/** @throws BackupFault where there is more than what a restore that was cut off has left */
async function requireEmpty(dataDir: string): Promise<void> {
  const isLeft = isUnfinished(dataDir)
  const all = (await contentsOf(dataDir)).filter(name => !(isLeft && isLeaving(name)))
  const found = all.find(name => name === names.database) ?? all[0]
  if (found !== undefined) {
    if (isDataDirectoryLocked(daemonLockPath(dataDir))) throw new BackupFault(atWork(dataDir))
    throw new BackupFault(
      `${dataDir} is not empty (${found}): a backup is restored into an empty directory, so move what is there away first`,
    )
  }
}

/** What is in a data directory, but for its lock and for what a file system has at its root. */
async function contentsOf(dataDir: string): Promise<string[]> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  const lockName = basename(daemonLockPath(dataDir))
  const passedOver = ['lost+found', lockName, `${lockName}-journal`]
  return (await readdir(dataDir)).filter(name => !passedOver.includes(name))
}

async function restore(parts: RestoreParts, chain: readonly OpenedBackup[]): Promise<RestoreReport> {
  const { dataDir, signal, told } = parts
  const [newest] = chain
  const { head, files } = newest!
  const restored = new Set<string>()
  const arriving = arrivingPath(dataDir)
  for (const backup of chain) {
    const places = { dataDir, arriving, isNewest: backup === newest, files, restored }
    await takeFrom(backup, places, () => {
      signal.throwIfAborted()
      told('files', restored.size, files.size)
    })
  }
  told('checking', 0, 1)
  if (!existsSync(arriving)) throw new BackupFault(`the backup is not whole: it has no ${names.database}`)
  await requireNode(dataDir)
  requireOurSchema(arriving)
  const { broken, orphans } = findDamage(arriving)
  const [damage] = [...broken, ...orphans]
  if (damage !== undefined) throw new BackupFault(`the database in the backup is damaged: ${damage}`)
  const missing = await missingOf(parts, arriving, head)
  await syncFolders(dataDir)
  // What was said while the database was looked at is heard now.
  await new Promise(resolve => setImmediate(resolve))
  signal.throwIfAborted()
  // Not over what somebody has made there meanwhile.
  await link(arriving, join(dataDir, names.database))
  await rm(arriving)
  await syncFolder(dataDir)
  await markFinished(dataDir)
  await syncFolder(dataDir)
  told('checking', 1, 1)
  return { ...head, filesRestored: restored.size, missing }
}

interface Places {
  readonly dataDir: string
  readonly arriving: string
  readonly isNewest: boolean
  readonly files: ReadonlySet<string>
  readonly restored: Set<string>
}

/** Puts what is needed of a backup where it goes. @throws BackupFault with its name */
async function takeFrom({ name, rest }: OpenedBackup, places: Places, taken: () => void): Promise<void> {
  try {
    for await (const file of rest) {
      const to = placeOf(file, places)
      if (to === undefined) file.content.resume()
      else await writeDurably(file, to)
      taken()
    }
  } catch (error) {
    if (!(error instanceof BackupFault)) throw error
    throw new BackupFault(`${name}: ${error.message}`, { cause: error.cause })
  }
}

/** Where a file of an archive goes; undefined when it is of no use any more. @throws BackupFault when it is none of ours */
function placeOf({ name, sizeBytes }: ArchivedFile, places: Places): string | undefined {
  const { dataDir, arriving, isNewest, files, restored } = places
  if (name === names.database) return isNewest ? arriving : undefined
  if (keyFiles.includes(name) || smallFiles.includes(name)) {
    if (sizeBytes > limits.backupTextBytes)
      throw new BackupFault(`${name} in the backup is larger than ${limits.backupTextBytes} bytes`)
    return isNewest ? join(dataDir, name) : undefined
  }
  const id = rawOfName(name)
  if (id === undefined) throw new BackupFault(`the backup holds a file that is none of mailboxd: ${name}`)
  if (!files.has(id) || restored.has(id)) return undefined
  restored.add(id)
  return join(dataDir, rawName(id))
}

async function writeDurably({ content }: ArchivedFile, path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  await pipeline(content, createWriteStream(path, { flags: 'wx', mode: 0o600, flush: true }))
}

/** Before anything is asked of it: what is none of ours could run with what we ask. @throws BackupFault */
function requireOurSchema(database: string): void {
  const { found, isNewer } = strangeSchemaOf(database)
  if (found.length > 0)
    throw new BackupFault(`the database in the backup is not one that mailboxd made: ${found.join('; ')}`)
  if (isNewer)
    throw new BackupFault('the backup is of a newer mailboxd: install that version, and restore it there')
}

function strangeSchemaOf(database: string): StrangeSchema {
  try {
    return findStrangeSchema(database)
  } catch (error) {
    if (isStorageFault(error) || error instanceof UnreleasedSchema) throw error
    const why = error instanceof Error ? error.message : String(error)
    throw new BackupFault(`the database in the backup is damaged: ${why}`, { cause: error })
  }
}

/** What is missing; all else that the rows say must fit. @throws BackupFault */
async function missingOf(
  { openBlobs, dataDir }: RestoreParts,
  database: string,
  { hasKey }: BackupHead,
): Promise<string[]> {
  const { read, close } = await openReader(database)
  try {
    const [misnamed] = await findBroken(read, idInvariant, '', 1)
    if (misnamed)
      throw new BackupFault(`the database in the backup is damaged: ${misnamed.subject} ${misnamed.found}`)
    await requireKey(read, dataDir, hasKey)
    const blobs = await openBlobs(read)
    try {
      return (await findMissingFiles(blobs, read)).map(({ id }) => id)
    } finally {
      await blobs.close()
    }
  } finally {
    await close()
  }
}

/** @throws BackupFault unless the key is the one that the rows were sealed with, or in no backup that says so */
async function requireKey(read: Db, dataDir: string, hasKey: boolean): Promise<void> {
  const known = await findSecretKey(read)
  const keys = await Promise.all([readSecretKey(dataDir), readNextKey(dataDir)]).catch((error: unknown) => {
    if (!(error instanceof SecretKeyFault)) throw error
    throw new BackupFault('the backup is damaged: its secrets.key is none', { cause: error })
  })
  const found = keys.filter(key => key !== undefined)
  if (hasKey !== found.length > 0)
    throw new BackupFault(
      `the backup says that it has ${hasKey ? 'a' : 'no'} secrets.key, and has ${hasKey ? 'none' : 'one'}`,
    )
  if (!hasKey || !known || found.some(key => createSecretBox(key).keyId === known.id)) return
  throw new BackupFault('secrets.key in the backup is not the key that its database was sealed with')
}

/** The name is in what others are told, and in leases. @throws BackupFault */
async function requireNode(dataDir: string): Promise<void> {
  const path = join(dataDir, 'node')
  if (!existsSync(path) || /^[0-9a-z]{16}\n?$/.test(await readFile(path, 'latin1'))) return
  throw new BackupFault('the backup is damaged: what it has as the name of the node is none')
}

async function syncFolders(root: string): Promise<void> {
  const all = await readdir(root, { recursive: true, withFileTypes: true })
  for (const one of all) if (one.isDirectory()) await syncFolder(join(one.parentPath, one.name))
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path)
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
