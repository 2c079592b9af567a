import { realpathSync, statSync } from 'node:fs'
import { stat, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Writable } from 'node:stream'
import { BackupFault, isDiskFull } from '../../base/faults.ts'
import { createSecretBox } from '../../base/secrets.ts'
import type { Clock } from '../../base/time.ts'

import { type ArchiveWriter, backupFiles, writeArchive } from '../../blob/archive.ts'
import { DataDirectoryBusy } from '../../store/dialect/lock.ts'
import { snapshotDatabase } from '../../store/dialect/snapshot.ts'
import { deleteOwnersOfFile, isFileKept, type KeptFile, listKeptFiles } from '../../store/kept-files.ts'
import { openReader, openStore } from '../../store/open.ts'
import { findSecretKey } from '../../store/secrets.ts'
import { sweepRows } from '../../store/sweeps.ts'
import { readNextKey, readSecretKey } from '../app/secret-key.ts'
import { type BackupHead, keyFiles, names, rawName, smallFiles } from './contents.ts'
import { copyPath, lockBackups, removeCopy } from './copy.ts'

/** Free room that a backup leaves beside the copy of the database that it makes. */
export const backupRoomBytes = 64 * 1024 * 1024

/** How far a backup or its restoring has come. */
export type Progress = (step: string, done: number, of: number) => void

export interface BackupParts {
  readonly dataDir: string
  /** Opens what the archive is written to, when no other backup of this data is being made. */
  readonly openOutput: () => Writable
  readonly program: string
  readonly clock: Clock
  readonly withKey: boolean
  /** Whether large raws are in a bucket: those stay there. */
  readonly hasBucket: boolean
  /** Leaves nothing in the data directory when it is aborted. */
  readonly signal: AbortSignal
  readonly told: Progress
}

export interface BackupReport extends BackupHead {
  /** How many large raws are in the bucket, and not in the backup. */
  readonly filesInBucket: number
  /** How many files were deleted, with their messages and drafts, while the backup was made. */
  readonly deletedMeanwhile: number
  /** Files that a row points to and that were missing before. */
  readonly missing: readonly string[]
  /** Files whose bytes are not those of the SHA-256 in their row. They are in the backup as they are. */
  readonly damaged: readonly string[]
}

/**
 * Writes a backup of a data directory, whether the daemon runs or not: the database as it is at one moment, and the files
 * that its rows point to. Files never change. If a file is gone when it is copied, it was deleted after that moment, and the
 * rows that pointed to it are deleted in the backup, too. Each file is compared with the SHA-256 in its row.
 * @throws BackupFault
 */
export async function makeBackup(parts: BackupParts): Promise<BackupReport> {
  const { dataDir, told } = parts
  const unlock = lock(dataDir)
  const snapshot = copyPath(dataDir)
  try {
    const output = parts.openOutput()
    await removeCopy(dataDir)
    const database = join(dataDir, names.database)
    await requireRoom(database)
    const createdAt = parts.clock.now().toISOString()
    await snapshotDatabase(database, snapshot, (done, of) => told('database', done, of))
    parts.signal.throwIfAborted()
    if (parts.withKey) await requireKeyOf(snapshot, dataDir)
    return await write(parts, { output, snapshot, createdAt, kept: await filesOf(snapshot) })
  } catch (error) {
    // What is written with other codes is the output.
    const isOfSnapshot = error instanceof Error && 'code' in error && /^SQLITE/.test(String(error.code))
    throw isOfSnapshot && isDiskFull(error) ? noRoomFor(snapshot, error) : error
  } finally {
    await removeCopy(dataDir)
    unlock()
  }
}

/** For when a disk is full while a backup is written to `path`. */
export function noRoomFor(path: string, cause?: unknown): BackupFault {
  return new BackupFault(
    `no room is left for ${path} on the disk that is mounted at ${mountPointOf(path)}: make room there (df -h, df -i), or use another disk. The unfinished backup was removed`,
    { cause },
  )
}

function mountPointOf(path: string): string {
  let folder = realpathSync(dirname(path))
  const { dev } = statSync(folder)
  while (dirname(folder) !== folder && statSync(dirname(folder)).dev === dev) folder = dirname(folder)
  return folder
}

interface Taken {
  readonly output: Writable
  readonly snapshot: string
  readonly createdAt: string
  readonly kept: readonly KeptFile[]
}

async function write(
  parts: BackupParts,
  { output, snapshot, createdAt, kept }: Taken,
): Promise<BackupReport> {
  const { dataDir, withKey, hasBucket, told } = parts
  const archive = writeArchive(output, new Date(createdAt), parts.signal)
  const files = hasBucket ? await thoseBelow(dataDir, kept) : kept
  const head: BackupHead = {
    format: 'mailboxd backup',
    version: 1,
    createdAt,
    program: parts.program,
    files: files.length,
    hasKey: withKey,
  }
  await archive.addText(names.head, `${JSON.stringify(head, undefined, 2)}\n`)
  const gone: string[] = []
  const damaged: string[] = []
  for (const [index, { id, sizeBytes, sha256 }] of files.entries()) {
    const added = await addFile(archive, dataDir, rawName(id), sizeBytes)
    if (added === undefined) gone.push(id)
    else if (added !== sha256) damaged.push(id)
    told('files', index + 1, files.length)
  }
  const missing = await dropDeleted(parts, snapshot, gone)
  for (const name of [...(withKey ? keyFiles : []), ...smallFiles]) await addFile(archive, dataDir, name)
  told('writing', 0, 1)
  await archive.addFile(names.database, snapshot)
  await archive.finish()
  told('writing', 1, 1)
  return {
    ...head,
    filesInBucket: kept.length - files.length,
    deletedMeanwhile: gone.length - missing.length,
    missing,
    damaged,
  }
}

async function thoseBelow(dataDir: string, files: readonly KeptFile[]): Promise<KeptFile[]> {
  const found: KeptFile[] = []
  for (const file of files)
    if (await stat(join(dataDir, rawName(file.id))).catch(() => undefined)) found.push(file)
  return found
}

/** Returns the SHA-256 of the file; undefined if it is not there. */
async function addFile(
  archive: ArchiveWriter,
  dataDir: string,
  name: string,
  sizeBytes?: number,
): Promise<string | undefined> {
  try {
    return await archive.addFile(name, join(dataDir, name), sizeBytes)
  } catch (error) {
    if (isAbsent(error)) return undefined
    throw error
  }
}

/** Deletes in the snapshot what was deleted since; gives the files that are gone though what points to them is there. */
async function dropDeleted(parts: BackupParts, snapshot: string, gone: readonly string[]): Promise<string[]> {
  if (gone.length === 0) return []
  const missing: string[] = []
  const live = await openReader(join(parts.dataDir, names.database))
  const store = await openStore(snapshot, parts.clock)
  try {
    for (const id of gone) {
      if (await isFileKept(live.read, id)) missing.push(id)
      else await store.write(db => deleteOwnersOfFile(db, id))
    }
  } finally {
    await store.close()
    await live.close()
  }
  return missing
}

async function filesOf(snapshot: string): Promise<KeptFile[]> {
  const { read, close } = await openReader(snapshot)
  try {
    const files: KeptFile[] = []
    let page: KeptFile[]
    do {
      if (files.length > backupFiles) {
        throw new BackupFault(
          `there are more than ${backupFiles} large messages: copy the data directory while mailboxd is stopped`,
        )
      }
      page = await listKeptFiles(read, files.at(-1)?.id ?? '', sweepRows)
      files.push(...page)
    } while (page.length > 0)
    return files
  } finally {
    await close()
  }
}

/** The snapshot is written next to the database, which must not run out of room because of it. */
async function requireRoom(database: string): Promise<void> {
  const { size } = await stat(database)
  const { bavail, bsize } = await statfs(database)
  if (bavail * bsize < size + backupRoomBytes) {
    throw new BackupFault(
      `a backup needs ${size + backupRoomBytes} free bytes next to ${database} while it is made, and the disk that is mounted at ${mountPointOf(database)} has ${bavail * bsize}: make room first`,
    )
  }
}

/** A key that changes while the backup is made would be the wrong one for ever. */
async function requireKeyOf(snapshot: string, dataDir: string): Promise<void> {
  const { read, close } = await openReader(snapshot)
  try {
    const known = await findSecretKey(read)
    const keys = [await readSecretKey(dataDir), await readNextKey(dataDir)]
    if (!known || keys.some(key => key && createSecretBox(key).keyId === known.id)) return
  } finally {
    await close()
  }
  throw new BackupFault(
    `${keyFiles[0]} in ${dataDir} is missing or not the key of this database, so a backup could not be restored: put the right one there, try again if secrets were being rotated, or leave the key out with --without-key`,
  )
}

function lock(dataDir: string): () => void {
  try {
    return lockBackups(dataDir)
  } catch (error) {
    if (error instanceof DataDirectoryBusy) throw new BackupFault('another backup of this data is being made')
    throw error
  }
}

function isAbsent(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}
