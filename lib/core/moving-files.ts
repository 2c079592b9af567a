import { BackupFault } from '../base/backup-fault.ts'
import { limits } from '../base/limits.ts'
import type { DistantBlobs } from '../blob/bucket/distant.ts'
import { type Db, isServer } from '../store/dialect/dialect.ts'
import { isFileKept, type KeptFile, listKeptFiles } from '../store/kept-files.ts'
import { listOtherNodes } from '../store/living-nodes.ts'
import { openReader } from '../store/open.ts'
import { findRunning, lockInstallation, type MoveReport } from './moving.ts'
import { nodeName } from './nodes/node-name.ts'
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
  /** False where a daemon runs: it still reads the files here, or puts new ones into the bucket. */
  readonly isDone: boolean
  /** Those nodes that run, when it is not done. */
  readonly running: MoveReport['running']
  /** How many there are that rows point to. */
  readonly files: number
  /** How many of them this call has copied, and their bytes. */
  readonly copied: number
  readonly copiedBytes: number
  /** How many are in neither place. */
  readonly missing: number
}

/**
 * Moves the files of large messages between the data directory and the bucket of the settings. What goes into the bucket is compared by its bytes,
 * what comes from there by its length, and whoever reads one finds it all the time, for both places are looked at. While a daemon runs they are copied; without one those that are in the
 * bucket go from the data directory. Objects stay in the bucket, for a way back. It can be cut off at any time, and goes on at the next call.
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
      if (to === 'disk' && isServer(from)) await requireNoOthers(read, dataDir)
      const blobs = await openBucket(read)
      if (!blobs)
        throw new BackupFault(
          '`blobs` is not set, so large messages are in data_dir already; where some are in a bucket, set it and the table [s3] first',
        )
      try {
        const moved = await moveEach(read, blobs, { to, isAlone: free !== undefined, told })
        return { isDone: free !== undefined, running: free ? [] : await findRunning(from, read), ...moved }
      } finally {
        await blobs.close()
      }
    } finally {
      await close()
    }
  } finally {
    await free?.()
  }
}

/** @throws BackupFault: what lies on the disk of one node no other one finds, and none of them would start again beside it */
async function requireNoOthers(read: Db, dataDir: string): Promise<void> {
  const others = await listOtherNodes(read, await nodeName(dataDir))
  if (others.length === 0) return
  const names = others.map(({ id, name }) => `${name} (${id})`).join(', ')
  throw new BackupFault(
    `on the disk of this node large messages would be found by no other, and these work beside it: ${names}. Leave them in the bucket, or stop the others for good first`,
  )
}

interface MoveHow extends Pick<FilesMoveParts, 'to' | 'told'> {
  /** Whether nobody else reads what is in the data directory. */
  readonly isAlone: boolean
}

async function moveEach(read: Db, blobs: DistantBlobs, { to, isAlone, told }: MoveHow) {
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
    if (to === 'bucket' && isAlone && found) await blobs.removeFromDisk(id)
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
