import { writeFile } from 'node:fs/promises'
import { limits } from '../base/limits.ts'
import { DiskFailed } from '../store/group-commit.ts'
import { isFileUsed } from '../store/raws.ts'
import type { App } from './app.ts'

/**
 * Makes the bytes of a new raw durable where they belong: gives them back to be a blob of the row when they are small;
 * puts them into the file of this id, and gives null for the row, when they are large.
 */
export async function keepBytes(app: App, rawId: string, bytes: Buffer): Promise<Buffer | null> {
  if (bytes.length <= limits.blobInDatabaseBytes) return bytes
  const spooled = app.disk.spoolPath(rawId)
  await writeFile(spooled, bytes, { mode: 0o600, flag: 'wx' })
  await app.disk.keep(rawId, spooled)
  return null
}

/**
 * Removes the files of a write that failed with `error`. After a failed fsync nobody knows whether the rows are there;
 * then they stay, and the next start sees.
 */
export async function dropFilesOf(app: App, error: unknown, ids: readonly string[]): Promise<void> {
  if (error instanceof DiskFailed) return
  for (const id of ids) await app.disk.remove(id)
}

/**
 * Removes those of these files that no row points to: what a kill left between the move of a file and its commit, or
 * between a purge and the removal of its files. `ids` are files of processes before this one, whose rows are final.
 */
export async function removeStrayFiles(app: App, ids: readonly string[], signal: AbortSignal): Promise<void> {
  let count = 0
  for (const id of ids) {
    if (signal.aborted) return
    if (await isFileUsed(app.store.read, id)) continue
    await app.disk.remove(id)
    count++
  }
  if (count > 0) app.log.info({ files: count }, 'files without a row removed')
}
