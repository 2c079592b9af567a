import { createWriteStream, existsSync } from 'node:fs'
import { link, mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { BackupFault, isStorageFault, UnreleasedSchema } from '../../base/faults.ts'
import { syncFolder } from '../../base/files.ts'

import { createSecretBox } from '../../base/secrets.ts'

import { type ArchivedFile, backupTextBytes } from '../../blob/archive.ts'
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
import { type BackupHead, keyFiles, names, type OpenedBackup, rawOfName, smallFiles } from './contents.ts'
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
  /** Files that rows point to and that the archive lacks: they were missing when the backup was made. */
  readonly missing: readonly string[]
}

/**
 * Puts a backup into a data directory that is empty. A backup that is damaged or cut off leaves the directory as it was. The
 * database is put in its place last, after all files were compared with the checksums, the database with itself, and each
 * row with its file. Until then no daemon starts there, also if this is killed; the next call removes what was left.
 * @throws BackupFault when the directory is not empty, or the backup is damaged; UnreleasedSchema
 */
export async function restoreBackup(parts: RestoreParts, backup: OpenedBackup): Promise<RestoreReport> {
  const { dataDir } = parts
  // Before the lock, too: it is not to be made in what is somebody else's.
  await requireEmpty(dataDir)
  const unlock = lock(dataDir)
  try {
    await requireEmpty(dataDir)
    await removeLeavings(dataDir)
    await markUnfinished(dataDir)
    return await restore(parts, backup)
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

async function restore(parts: RestoreParts, backup: OpenedBackup): Promise<RestoreReport> {
  const { dataDir, signal, told } = parts
  const { head } = backup
  const arriving = arrivingPath(dataDir)
  let filesRestored = 0
  await takeFrom(backup, async file => {
    const to = placeOf(file, dataDir)
    await writeDurably(file, to)
    if (rawOfName(file.name) !== undefined) filesRestored++
    signal.throwIfAborted()
    told('files', filesRestored, head.files)
  })
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
  return { ...head, filesRestored, missing }
}

/** @throws BackupFault with the name of the backup */
async function takeFrom(
  { name, rest }: OpenedBackup,
  take: (file: ArchivedFile) => Promise<void>,
): Promise<void> {
  try {
    for await (const file of rest) await take(file)
  } catch (error) {
    if (!(error instanceof BackupFault)) throw error
    throw new BackupFault(`${name}: ${error.message}`, { cause: error.cause })
  }
}

/** Where a file of an archive goes. @throws BackupFault if it is none of ours */
function placeOf({ name, sizeBytes }: ArchivedFile, dataDir: string): string {
  if (name === names.database) return arrivingPath(dataDir)
  if (keyFiles.includes(name) || smallFiles.includes(name)) {
    if (sizeBytes > backupTextBytes)
      throw new BackupFault(`${name} in the backup is larger than ${backupTextBytes} bytes`)
    return join(dataDir, name)
  }
  if (rawOfName(name) === undefined)
    throw new BackupFault(`the backup holds a file that is none of mailboxd: ${name}`)
  return join(dataDir, name)
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
    const blobs = await openBlobs()
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
