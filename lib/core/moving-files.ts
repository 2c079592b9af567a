import { BackupFault } from '../base/backup-fault.ts'
import { limits } from '../base/limits.ts'
import type { DistantBlobs } from '../blob/bucket/distant.ts'
import type { Db } from '../store/dialect/dialect.ts'
import { isFileKept, type KeptFile, listKeptFiles } from '../store/kept-files.ts'
import { openReader } from '../store/open.ts'
import { lockInstallation } from './moving.ts'
import type { OpenBucket } from './open-blobs.ts'

export interface FilesMoveParts {
  readonly dataDir: string
  /** Where the rows are, as of `openReader`. */
  readonly from: string
  readonly to: 'bucket' | 'disk'
  readonly openBucket: OpenBucket
  readonly told: (step: string, done: number, of: number) => void
}

export interface FilesMoveReport {
  /** How many there are that rows point to. */
  readonly files: number
  /** How many of them this call has copied, and their bytes. */
  readonly copied: number
  readonly copiedBytes: number
  /** How many are in neither place. */
  readonly missing: number
}

/**
 * Moves the files of large messages between the data directory and the bucket of the settings, with all daemons stopped.
 * Objects stay in the bucket, for a way back. If it is cut off, the next call goes on: both places are read.
 * @throws BackupFault, BlobsFault, StorageUnreachable
 */
export async function moveFiles({
  dataDir,
  from,
  to,
  openBucket,
  told,
}: FilesMoveParts): Promise<FilesMoveReport> {
  const free = await lockInstallation(dataDir, from)
  try {
    const { read, close } = await openReader(from)
    try {
      const blobs = await openBucket(read)
      if (!blobs)
        throw new BackupFault(
          '`blobs` is not set, so large messages are in data_dir already; where some are in a bucket, set it and the table [s3] first',
        )
      try {
        return await moveEach(read, blobs, { to, told })
      } finally {
        await blobs.close()
      }
    } finally {
      await close()
    }
  } finally {
    await free()
  }
}

async function moveEach(read: Db, blobs: DistantBlobs, { to, told }: Pick<FilesMoveParts, 'to' | 'told'>) {
  const sum = { files: 0, copied: 0, copiedBytes: 0, missing: 0 }
  const move = async ({ id, sizeBytes, sha256 }: KeptFile) => {
    const found = await (to === 'bucket'
      ? blobs.copyToBucket(id)
      : blobs.copyToDisk({ id, sizeBytes, sha256 }))
    const size = found?.sizeBytes ?? (await blobs.sizeOf(id))
    if (size !== sizeBytes) {
      // What was deleted meanwhile is not missing, and what is damaged here stays for somebody to look at.
      if (await isFileKept(read, id)) sum.missing++
      return
    }
    sum.files++
    if (found?.isNew) {
      sum.copied++
      sum.copiedBytes += sizeBytes
    }
    if (to === 'bucket' && found) await blobs.removeFromDisk(id)
  }
  let page: KeptFile[]
  let after = ''
  let begun = 0
  do {
    page = await listKeptFiles(read, after, limits.sweepRows)
    for (let at = 0; at < page.length; at += limits.movedAtOnce) {
      await Promise.all(page.slice(at, at + limits.movedAtOnce).map(move))
      begun = Math.min(at + limits.movedAtOnce, page.length)
      told(`moving ${sum.files} files, this page`, begun, page.length)
    }
    after = page.at(-1)?.id ?? after
  } while (page.length > 0)
  return sum
}
