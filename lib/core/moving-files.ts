import { BackupFault, BlobsFault, BucketOut } from '../base/faults.ts'

import type { DistantBlobs } from '../blob/bucket/distant.ts'
import { sumFile } from '../blob/content.ts'
import { openDisk } from '../blob/disk.ts'
import { type KeptFile, listKeptFiles } from '../store/kept-files.ts'
import type { Told } from '../store/moving/copy.ts'
import { openReader } from '../store/open.ts'
import { sweepRows } from '../store/sweeps.ts'
import { lockInstallation } from './moving.ts'
import type { OpenBucket } from './open-blobs.ts'

/** Large messages that are moved to or from the bucket at the same time. */
const movedAtOnce = 8

export interface FilesMoveParts {
  readonly dataDir: string
  /** Where the rows are, as of `openReader`. */
  readonly from: string
  readonly to: 'bucket' | 'disk'
  readonly openBucket: OpenBucket
  readonly told: Told
}

export interface FilesMoveReport {
  /** How many files rows point to that are there now. */
  readonly files: number
  /** How many of them this call has moved, and their bytes. */
  readonly copied: number
  readonly copiedBytes: number
  /** How many are in neither place, or damaged. They stay as they are. */
  readonly missing: number
}

/**
 * Moves the files of large messages between the data directory and the bucket of the settings, with all daemons stopped. Each is compared
 * with the SHA-256 in its row before it is removed from the disk. Objects stay in the bucket, for a way back. If it is cut off, the next
 * call goes on with what is still to be moved.
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
    const bucket = await openBucket()
    if (!bucket)
      throw new BackupFault(
        '`blobs` is not set, so large messages are in data_dir already; if some are in a bucket, set it and the table [s3] first',
      )
    const { read, close } = await openReader(from)
    try {
      const move = await moverOf(dataDir, bucket, to)
      const sum = { files: 0, copied: 0, copiedBytes: 0, missing: 0 }
      const count = async (file: KeptFile) => {
        const became = await move(file)
        if (became === 'missing') sum.missing++
        else sum.files++
        if (became !== 'moved') return
        sum.copied++
        sum.copiedBytes += file.sizeBytes
      }
      let page: KeptFile[]
      let after = ''
      do {
        page = await listKeptFiles(read, after, sweepRows)
        for (let at = 0; at < page.length; at += movedAtOnce) {
          await Promise.all(page.slice(at, at + movedAtOnce).map(count))
          const begun = Math.min(at + movedAtOnce, page.length)
          told(`moving ${sum.files} files, this page`, begun, page.length)
        }
        after = page.at(-1)?.id ?? after
      } while (page.length > 0)
      return sum
    } finally {
      await close()
      await bucket.close()
    }
  } finally {
    await free()
  }
}

type Became = 'moved' | 'there' | 'missing'

async function moverOf(
  dataDir: string,
  bucket: DistantBlobs,
  to: 'bucket' | 'disk',
): Promise<(file: KeptFile) => Promise<Became>> {
  const disk = await openDisk(dataDir)
  if (to === 'bucket')
    return async file => {
      const here = await disk.find(file)
      if (here?.kind !== 'file')
        return (await bucket.sizeOf(file.id)) === file.sizeBytes ? 'there' : 'missing'
      if ((await sumFile(here.path)).sha256 !== file.sha256) return 'missing'
      await bucket.upload(file, here.path)
      await disk.remove(file.id)
      return 'moved'
    }
  return async file => {
    if ((await disk.sizeOf(file.id)) === file.sizeBytes) return 'there'
    try {
      return (await bucket.download(file, part => disk.keep(file, part))) ? 'moved' : 'missing'
    } catch (error) {
      if (error instanceof BlobsFault && !(error instanceof BucketOut)) return 'missing'
      throw error
    }
  }
}
