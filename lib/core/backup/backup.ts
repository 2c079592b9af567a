import { stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import type { Writable } from 'node:stream'
import { BackupFault } from '../../base/backup-fault.ts'
import type { Clock } from '../../base/clock.ts'
import type { Ids } from '../../base/ids.ts'
import { limits } from '../../base/limits.ts'
import { createSecretBox } from '../../base/secret-box.ts'
import { type ArchiveWriter, writeArchive } from '../../blob/archive.ts'
import { DataDirectoryBusy } from '../../store/dialect/lock.ts'
import { snapshotDatabase } from '../../store/dialect/snapshot.ts'
import { deleteOwnersOfFile, isFileKept, type KeptFile, listKeptFiles } from '../../store/kept-files.ts'
import { openReader, openStore } from '../../store/open.ts'
import { findSecretKey } from '../../store/secrets.ts'
import { readNextKey, readSecretKey } from '../app/secret-key.ts'
import { type BackupHead, keyFiles, names, type OpenedBackup, rawName, smallFiles } from './contents.ts'
import { copyPath, lockBackups, removeCopy } from './copy.ts'

/** How far a backup or its restoring has come. */
export type Progress = (step: string, done: number, of: number) => void

export interface BackupParts {
  readonly dataDir: string
  readonly output: Writable
  readonly program: string
  readonly clock: Clock
  readonly ids: Ids
  /** Whose files are left out, because they stand in it or in what it builds on. */
  readonly base?: Pick<OpenedBackup, 'head' | 'files'>
  readonly withKey: boolean
  /** Whether large raws lie in a bucket: those are left there. */
  readonly hasBucket: boolean
  /** Leaves nothing in the data directory when it is aborted. */
  readonly signal: AbortSignal
  readonly told: Progress
}

export interface BackupReport extends BackupHead {
  /** Large raws that are not in the data directory but in the bucket, and stay there. */
  readonly filesInBucket: number
  /** Messages and drafts were deleted while their files were copied: files that are in no backup, nor what pointed to them. */
  readonly deletedMeanwhile: number
  /** Files that are missing though a row points to them: damage that was there before. */
  readonly missing: readonly string[]
}

/**
 * Writes a backup of a data directory, whether the daemon runs or not: the database as it is at one moment, and the files
 * that its rows point to. Files never change; one that is gone when its turn comes was deleted after that moment, and then
 * what pointed to it is deleted in the backup, too.
 * @throws BackupFault
 */
export async function makeBackup(parts: BackupParts): Promise<BackupReport> {
  const { dataDir, told } = parts
  const unlock = lock(dataDir)
  const snapshot = copyPath(dataDir)
  try {
    await removeCopy(dataDir)
    const database = join(dataDir, names.database)
    await requireRoom(database)
    const createdAt = parts.clock.now().toISOString()
    await snapshotDatabase(database, snapshot, (done, of) => told('database', done, of))
    parts.signal.throwIfAborted()
    if (parts.withKey) await requireKeyOf(snapshot, dataDir)
    return await write(parts, { snapshot, createdAt, kept: await filesOf(snapshot) })
  } finally {
    await removeCopy(dataDir)
    unlock()
  }
}

interface Taken {
  readonly snapshot: string
  readonly createdAt: string
  readonly kept: readonly KeptFile[]
}

async function write(parts: BackupParts, { snapshot, createdAt, kept }: Taken): Promise<BackupReport> {
  const { dataDir, base, withKey, hasBucket, told } = parts
  const archive = writeArchive(parts.output, new Date(createdAt), parts.signal)
  const files = hasBucket ? await thoseBelow(dataDir, kept) : kept
  const here = base ? files.filter(file => !base.files.has(file.id)) : files
  const head: BackupHead = {
    format: 'mailboxd backup',
    version: 1,
    id: parts.ids.next(),
    createdAt,
    program: parts.program,
    files: files.length,
    filesHere: here.length,
    base: base ? { id: base.head.id, createdAt: base.head.createdAt } : null,
    hasKey: withKey,
  }
  await archive.addText(names.head, `${JSON.stringify(head, undefined, 2)}\n`)
  await archive.addText(names.files, files.map(file => `${file.id}\n`).join(''))
  const gone: string[] = []
  for (const [index, { id, sizeBytes }] of here.entries()) {
    if (!(await addFile(archive, dataDir, rawName(id), sizeBytes))) gone.push(id)
    told('files', index + 1, here.length)
  }
  const missing = await dropDeleted(parts, snapshot, gone)
  for (const name of [...(withKey ? keyFiles : []), ...smallFiles]) await addFile(archive, dataDir, name)
  told('writing', 0, 1)
  await archive.addFile(names.database, snapshot, (await stat(snapshot)).size)
  await archive.finish()
  told('writing', 1, 1)
  return {
    ...head,
    filesInBucket: kept.length - files.length,
    deletedMeanwhile: gone.length - missing.length,
    missing,
  }
}

async function thoseBelow(dataDir: string, files: readonly KeptFile[]): Promise<KeptFile[]> {
  const found: KeptFile[] = []
  for (const file of files)
    if (await stat(join(dataDir, rawName(file.id))).catch(() => undefined)) found.push(file)
  return found
}

/** Gives whether the file is there. */
async function addFile(
  archive: ArchiveWriter,
  dataDir: string,
  name: string,
  sizeBytes?: number,
): Promise<boolean> {
  const path = join(dataDir, name)
  try {
    await archive.addFile(name, path, sizeBytes ?? (await stat(path)).size)
    return true
  } catch (error) {
    if (isAbsent(error)) return false
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
      if (files.length > limits.backupFiles) {
        throw new BackupFault(
          `there are more than ${limits.backupFiles} large messages: copy the data directory while mailboxd is stopped`,
        )
      }
      page = await listKeptFiles(read, files.at(-1)?.id ?? '', limits.sweepRows)
      files.push(...page)
    } while (page.length > 0)
    return files
  } finally {
    await close()
  }
}

/** The snapshot stands beside the database, which must not lose its room by it. */
async function requireRoom(database: string): Promise<void> {
  const { size } = await stat(database)
  const { bavail, bsize } = await statfs(database)
  if (bavail * bsize < size + limits.backupRoomBytes) {
    throw new BackupFault(
      `a backup needs ${size + limits.backupRoomBytes} free bytes beside ${database} for the time that it takes, and there are ${bavail * bsize}: make room first`,
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
    `${keyFiles[0]} in ${dataDir} is missing or not the key of this database, so a backup could not be restored: mend that, try again if secrets were being rotated, or leave the key out with --without-key`,
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
