import { existsSync, mkdirSync } from 'node:fs'
import { mkdir, open, readdir, readFile, rename, rm, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { BlobsFault } from '../base/faults.ts'
import { createFile, replaceFile } from '../base/files.ts'
import { systemClock } from '../base/time.ts'
import { isBlobId, requireBlobId } from './blob-id.ts'
import type { Blobs, Stray } from './blobs.ts'

const rootOf = (dataDir: string) => join(dataDir, 'raw')

/** Says that something was kept in `raw`. It stands beside it, for `raw` may be on a disk of its own, which is not always mounted. */
const usedPath = (dataDir: string) => join(dataDir, 'raw.used')

/**
 * Why what was kept below `data_dir/raw` is not to be had, in a sentence for the operator; undefined when all is as it was left. What
 * looks gone there would fail its deliveries for good, and what comes meanwhile would lie below the mount point.
 */
export async function whyRawsMiss(dataDir: string): Promise<string | undefined> {
  if (!existsSync(usedPath(dataDir)) || (await hasFolders(dataDir))) return undefined
  return `${rootOf(dataDir)} is empty, and large messages were kept there: mount the disk that has them, or restore a backup. If they are lost for good, remove ${usedPath(dataDir)}`
}

/** The names of our folders below `data_dir/raw`. Beside them stands what others put there: `lost+found`, on a disk of its own. */
export async function foldersOfRaws(dataDir: string): Promise<string[]> {
  const names = (await readdir(rootOf(dataDir)).catch(absent)) ?? []
  return names.filter(name => /^[0-9a-z]{2}$/.test(name))
}

/** Where files are kept that no row points to. */
const strayRoot = (dataDir: string) => join(dataDir, 'stray')

/** The files in `data_dir/stray`. The time of their last change is when they were set aside. */
export async function listStrayFiles(dataDir: string): Promise<Stray[]> {
  const strays: Stray[] = []
  for (const id of ((await readdir(strayRoot(dataDir)).catch(absent)) ?? []).filter(isBlobId)) {
    const found = await stat(join(strayRoot(dataDir), id)).catch(absent)
    if (found) strays.push({ id, ageMs: systemClock.now().getTime() - found.mtimeMs })
  }
  return strays
}

/** A search for files, or objects of the bucket, without a row that found too many of them to move any. */
export interface LeftStrays {
  readonly at: string
  readonly strays: number
  readonly files: number
}

type LeftWhere = 'files' | 'objects'

const leftPath = (dataDir: string) => join(dataDir, 'strays-left.json')

/** Keeps the result of the last search for what `mailboxctl` shows. @param left undefined if nothing had to be left where it was */
export async function noteLeftStrays(
  dataDir: string,
  where: LeftWhere,
  left: LeftStrays | undefined,
): Promise<void> {
  const before = await readLeftStrays(dataDir)
  if (before[where] === left) return
  await replaceFile(leftPath(dataDir), `${JSON.stringify({ ...before, [where]: left })}\n`)
}

/** Returns the last search of files, and that of objects, if it moved nothing because it found too many. */
export async function readLeftStrays(dataDir: string): Promise<Partial<Record<LeftWhere, LeftStrays>>> {
  try {
    return JSON.parse(await readFile(leftPath(dataDir), 'utf8'))
  } catch {
    return {}
  }
}

/** Says what an operator has to do about strays that were left where they are. */
export function describeLeftStrays(
  where: LeftWhere,
  { strays, files }: Pick<LeftStrays, 'strays' | 'files'>,
): string {
  const what = where === 'files' ? 'files' : 'objects of the bucket'
  return `${strays} of ${files} ${what} have no row, so this may be the wrong database. Nothing was moved. If it is wrong, stop mailboxd and restore the right one. If it is right, move away the ${where} that mailboxctl verify reports as "has no row", then restart mailboxd`
}

/** Whether a folder of ours is there; they stay when the last raw in them goes. */
const hasFolders = async (dataDir: string) => (await foldersOfRaws(dataDir)).length > 0

/**
 * Large raws in one file each below `data_dir/raw`, in 256 folders by the last two characters of the id.
 * @throws BlobsFault where that is not mounted
 */
export async function openDisk(dataDir: string): Promise<Blobs> {
  const spool = join(dataDir, 'spool')
  const root = rootOf(dataDir)
  const requireRaws = async () => {
    const why = await whyRawsMiss(dataDir)
    if (why !== undefined) throw new BlobsFault(why)
  }
  await requireRaws()
  await mkdir(spool, { recursive: true, mode: 0o700 })
  await mkdir(root, { recursive: true, mode: 0o700 })
  let isUsed = await hasFolders(dataDir)
  // On a full disk: at the next start.
  if (isUsed) await createFile(usedPath(dataDir), '').catch(() => {})
  // The last characters of a UUID version 7 are random; the first are the time and would fill one folder.
  const folderOf = (id: string) => join(root, requireBlobId(id).slice(-2))
  const pathOf = (id: string) => join(folderOf(id), id)
  const strayOf = (id: string) => join(strayRoot(dataDir), requireBlobId(id))
  return {
    async keep({ id }, spooled) {
      if (isUsed) await requireRaws()
      await mkdir(folderOf(id), { recursive: true, mode: 0o700 })
      await syncFile(spooled)
      await rename(spooled, pathOf(id))
      await syncFile(folderOf(id))
      await syncFile(root)
      // Not before: a power cut would leave it beside an empty folder.
      if (!isUsed) await createFile(usedPath(dataDir), '')
      isUsed = true
    },
    async find({ id, sha256 }) {
      const path = pathOf(id)
      const found = await stat(path).catch(absent)
      if (!found) await requireRaws()
      return found && { kind: 'file', path, sizeBytes: found.size, sha256 }
    },
    async sizeOf(id) {
      const found = await stat(pathOf(id)).catch(absent)
      if (!found) await requireRaws()
      return found?.size
    },
    async remove(id) {
      await rm(pathOf(id), { force: true })
      return true
    },
    async list() {
      const folders = await foldersOfRaws(dataDir)
      const names = await Promise.all(folders.map(folder => readdir(join(root, folder))))
      return names.flat().filter(isBlobId)
    },
    async *listDistant() {},
    async setAside(id) {
      const now = systemClock.now()
      await mkdir(strayRoot(dataDir), { recursive: true, mode: 0o700 })
      // First: an old time would have it deleted soon, if this were cut off in between.
      await utimes(pathOf(id), now, now).catch(absent)
      await rename(pathOf(id), strayOf(id)).catch(absent)
    },
    async takeBack(id) {
      if (!existsSync(strayOf(id))) return
      await mkdir(folderOf(id), { recursive: true, mode: 0o700 })
      await rename(strayOf(id), pathOf(id)).catch(absent)
      await syncFile(folderOf(id))
    },
    async *listStrays() {
      yield await listStrayFiles(dataDir)
    },
    async removeStray(id) {
      await rm(strayOf(id), { force: true })
    },
    trimCache: async () => 0,
    tryOut: async () => {},
    spoolPath(id) {
      // Somebody may have cleared it away, folder and all. The data directory itself is not made: its disk may be gone.
      try {
        mkdirSync(spool, { mode: 0o700 })
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      }
      return join(spool, id)
    },
    async clearSpool() {
      for (const name of await readdir(spool)) await rm(join(spool, name), { force: true })
    },
    async close() {},
  }
}

/** fsync of a file, or of a folder so that a name in it survives a power cut. */
async function syncFile(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}
