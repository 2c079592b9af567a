import { hash, randomUUID } from 'node:crypto'
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { BlobsFault } from '../../base/faults.ts'
import type { Clock } from '../../base/time.ts'
import { isBlobId, requireBlobId } from '../blob-id.ts'
import type { BlobFile, Blobs } from '../blobs.ts'
import type { Content } from '../content.ts'
import { createOwner } from './owner.ts'
import type { Bucket } from './s3.ts'

/** How long no object is removed after a removal failed. */
export const bucketRestMs = 60_000
/** An object without a row is set aside when it is older: whoever put it is through with it, or gone. */
export const strayObjectMs = 86_400_000
/** A copy of an object stays so long after it was read, for its reader; and at the most so long. */
export const cacheKeptMs = 600_000
export const cacheOldMs = 86_400_000

export interface DistantParts {
  readonly dataDir: string
  readonly bucket: Bucket
  readonly clock: Pick<Clock, 'now'>
  /** What the keys of this installation begin with, such as `large/`, and those of no other. */
  readonly prefix: string
  /** What copies on this machine may come to. */
  readonly cacheBytes: number
  /** Called when an object could not be removed, which the sweep will do. */
  readonly left: (error: unknown) => void
}

/** Raws in a bucket, and what moves them between it and the data directory. */
export interface DistantBlobs extends Blobs {
  /** Puts a file of this machine into the bucket, reads it back and compares it. @throws BlobsFault */
  upload(file: BlobFile, path: string): Promise<void>
  /**
   * Has `keep` do what it does with a raw of the bucket, in a file that is gone afterwards.
   * @returns false if there is none
   * @throws BlobsFault if it has other bytes than its row says
   */
  download(file: BlobFile, keep: (part: string) => Promise<unknown>): Promise<boolean>
}

/**
 * Large raws in a bucket, each put there before a row points to it. A reader gets a copy on this machine, below
 * `data_dir/cache`. Files that were in the data directory before there was a bucket are found there.
 * @param near the data directory
 */
export async function openDistant(near: Blobs, parts: DistantParts): Promise<DistantBlobs> {
  const { bucket, clock, cacheBytes, left, prefix } = parts
  const cache = join(parts.dataDir, 'cache')
  await mkdir(cache, { recursive: true, mode: 0o700 })
  const pathOf = (id: string) => join(cache, requireBlobId(id))
  /** Somebody may have cleared it away, folder and all. */
  const moveIntoCache = async (from: string, id: string) => {
    try {
      await rename(from, pathOf(id))
    } catch (error) {
      absent(error as NodeJS.ErrnoException)
      await mkdir(cache, { mode: 0o700 }).catch(existing)
      await rename(from, pathOf(id))
    }
  }
  const keyOf = (id: string) => `${prefix}${requireBlobId(id).slice(-2)}/${id}`
  const strayPrefix = `${prefix}stray/`
  const strayKeyOf = (id: string) => `${strayPrefix}${requireBlobId(id)}`
  const requireOwned = createOwner({
    dataDir: parts.dataDir,
    bucket,
    key: `${prefix}mailboxd.owner`,
    spoolPath: near.spoolPath,
  })
  /** Those that are being fetched: who asks for one meanwhile waits with the first. */
  const fetching = new Map<string, Promise<boolean>>()
  /** Until then objects are left to the sweep: a thread of a thousand messages does not wait a thousand times. */
  let restsUntil = 0

  async function copied({ id, sizeBytes, sha256 }: BlobFile): Promise<Content | undefined> {
    const path = pathOf(id)
    const found = await stat(path).catch(absent)
    if (found?.size !== sizeBytes) return undefined
    const now = clock.now()
    // One that was read just now is not trimmed.
    await utimes(path, now, now).catch(absent)
    return { kind: 'file', path, sizeBytes, sha256 }
  }

  async function download(
    { id, sizeBytes, sha256 }: BlobFile,
    keep: (part: string) => Promise<unknown>,
  ): Promise<boolean> {
    // Several threads and processes may fetch it at the same time.
    const part = near.spoolPath(`${requireBlobId(id)}-${randomUUID()}`)
    try {
      const came = await bucket.get(keyOf(id), part, sizeBytes)
      if (came === undefined) return false
      if (came.sizeBytes !== sizeBytes || came.sha256 !== sha256)
        throw new BlobsFault(
          `the bucket returns other bytes for the raw ${id} than came: ${came.sizeBytes}, SHA-256 ${came.sha256}, in place of ${sizeBytes}, ${sha256}`,
        )
      await keep(part)
      return true
    } finally {
      await rm(part, { force: true })
    }
  }

  /** Moves an object, if it is there. Not every server of S3 can copy, so it comes through this machine. @throws BlobsFault */
  async function moveObject(from: string, to: string): Promise<void> {
    await requireOwned()
    const part = near.spoolPath(`move-${randomUUID()}`)
    try {
      const sizeBytes = await bucket.sizeOf(from)
      if (sizeBytes === undefined) return
      const came = await bucket.get(from, part, sizeBytes)
      if (came?.sizeBytes !== sizeBytes)
        throw new BlobsFault(`the bucket returns ${came?.sizeBytes} of the ${sizeBytes} bytes of ${from}`)
      await bucket.put(to, part, came)
      await bucket.delete(from)
    } finally {
      await rm(part, { force: true })
    }
  }

  return {
    ...near,
    async upload(file, path) {
      const key = keyOf(file.id)
      await requireOwned()
      await bucket.put(key, path, file)
      if (!(await download(file, async () => {})))
        throw new BlobsFault(`the bucket does not have the raw ${file.id}, which was just put there`)
    },
    download,
    async keep(file, spooled) {
      await requireOwned()
      await bucket.put(keyOf(file.id), spooled, file)
      // It is read soon: to be delivered, forwarded, shown.
      await moveIntoCache(spooled, file.id)
    },
    async find(file) {
      const { id } = file
      const here = (await copied(file)) ?? (await near.find(file))
      if (here) return here
      const known = fetching.get(id)
      const coming =
        known ?? download(file, part => moveIntoCache(part, id)).finally(() => fetching.delete(id))
      if (!known) fetching.set(id, coming)
      return (await coming) ? copied(file) : undefined
    },
    sizeOf: async id => (await near.sizeOf(id)) ?? bucket.sizeOf(keyOf(id)),
    async remove(id) {
      await rm(pathOf(id), { force: true })
      await near.remove(id)
      if (clock.now().getTime() < restsUntil) return false
      try {
        await requireOwned()
        await bucket.delete(keyOf(id))
        return true
      } catch (error) {
        // The row is gone: who is told that the object stays could do nothing about it.
        left(error)
        restsUntil = clock.now().getTime() + bucketRestMs
        return false
      }
    },
    async *listDistant() {
      // Once a day, so that an original gives the objects up after its operator has let a copy take them.
      await requireOwned(true)
      let next: string | undefined
      do {
        const page = await bucket.list(prefix, next)
        yield page.objects
          .filter(({ ageMs }) => ageMs > strayObjectMs)
          .map(({ key }) => ({ key, id: key.slice(key.lastIndexOf('/') + 1) }))
          // Whatever else is there is not ours: strays, and objects of others if the prefix is empty.
          .filter(({ key, id }) => isBlobId(id) && key === keyOf(id))
          .map(({ id }) => id)
        next = page.next
      } while (next !== undefined)
    },
    async setAside(id) {
      await rm(pathOf(id), { force: true })
      if ((await near.sizeOf(id)) !== undefined) await near.setAside(id)
      else await moveObject(keyOf(id), strayKeyOf(id))
    },
    async takeBack(id) {
      await near.takeBack(id)
      if ((await near.sizeOf(id)) === undefined) await moveObject(strayKeyOf(id), keyOf(id))
    },
    async *listStrays() {
      yield* near.listStrays()
      let next: string | undefined
      do {
        const page = await bucket.list(strayPrefix, next)
        yield page.objects
          .map(({ key, ageMs }) => ({ id: key.slice(key.lastIndexOf('/') + 1), ageMs }))
          .filter(({ id }) => isBlobId(id))
        next = page.next
      } while (next !== undefined)
    },
    async removeStray(id) {
      await near.removeStray(id)
      await requireOwned()
      await bucket.delete(strayKeyOf(id))
    },
    async trimCache() {
      const files = await filesOf(cache)
      let sum = files.reduce((all, { sizeBytes }) => all + sizeBytes, 0)
      const now = clock.now().getTime()
      let removed = 0
      for (const { name, sizeBytes, readAtMs } of files.sort((a, b) => a.readAtMs - b.readAtMs)) {
        const unreadMs = now - readAtMs
        if (unreadMs < cacheKeptMs || (sum <= cacheBytes && unreadMs < cacheOldMs)) break
        await rm(join(cache, name), { force: true })
        sum -= sizeBytes
        removed++
      }
      return removed
    },
    async tryOut() {
      const id = `try-${randomUUID()}`
      const [sent, back] = [near.spoolPath(id), near.spoolPath(`${id}-back`)]
      try {
        await requireOwned(true)
        await writeFile(sent, id)
        const key = `${prefix}${id}`
        await bucket.put(key, sent, { sizeBytes: id.length, sha256: hash('sha256', id) })
        const came = await bucket.get(key, back, id.length)
        await bucket.delete(key)
        if (came === undefined || (await readFile(back, 'utf8')) !== id) {
          throw new BlobsFault('what was put there was not found, or was something else')
        }
      } finally {
        await rm(sent, { force: true })
        await rm(back, { force: true })
      }
    },
    async close() {
      await bucket.close()
      await near.close()
    },
  }
}

async function filesOf(folder: string) {
  const files: { name: string; sizeBytes: number; readAtMs: number }[] = []
  for (const name of (await readdir(folder).catch(absent)) ?? []) {
    const found = await stat(join(folder, name)).catch(absent)
    if (found) files.push({ name, sizeBytes: found.size, readAtMs: found.mtimeMs })
  }
  return files
}

function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}

function existing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'EEXIST') throw error
}
