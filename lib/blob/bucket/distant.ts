import { randomUUID } from 'node:crypto'
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { BlobsFault } from '../../base/blobs-fault.ts'
import type { Clock } from '../../base/clock.ts'
import { limits } from '../../base/limits.ts'
import { isBlobId, requireBlobId } from '../blob-id.ts'
import type { Blobs } from '../blobs.ts'
import type { Content } from '../content.ts'
import { createOwner } from './owner.ts'
import { type Bucket, hashOf } from './s3.ts'

export interface DistantParts {
  readonly dataDir: string
  readonly bucket: Bucket
  readonly clock: Pick<Clock, 'now'>
  /** What stands before the keys of this installation, and of no other; asked when the first is needed. */
  readonly prefix: () => Promise<string>
  /** What copies on this machine may come to. */
  readonly cacheBytes: number
  /** Called when an object could not be removed, which the sweep will do. */
  readonly left: (error: unknown) => void
}

/** A raw that was copied from one place to the other. */
export interface CopiedRaw {
  readonly sizeBytes: number
  /** False when it was in both places before. */
  readonly isNew: boolean
}

/** Raws in a bucket, and what moves them between it and the data directory. */
export interface DistantBlobs extends Blobs {
  /**
   * Puts a raw that is in the data directory into the bucket, too, and compares what it gives back.
   * @returns undefined when it is not in the data directory
   * @throws BlobsFault
   */
  copyToBucket(id: string): Promise<CopiedRaw | undefined>
  /**
   * Puts a raw that is in the bucket into the data directory, too, and makes that durable.
   * @returns undefined when it is in neither
   * @throws BlobsFault
   */
  copyToDisk(id: string): Promise<CopiedRaw | undefined>
  /** Removes it from the data directory. Only where nobody reads it. */
  removeFromDisk(id: string): Promise<void>
}

/**
 * Large raws in a bucket, each put there before a row points to it. Who reads one gets a copy on this machine, below
 * `data_dir/cache`. What was kept in the data directory before there was a bucket is found there.
 * @param near the data directory
 */
export async function openDistant(near: Blobs, parts: DistantParts): Promise<DistantBlobs> {
  const { bucket, clock, cacheBytes, left } = parts
  const cache = join(parts.dataDir, 'cache')
  await mkdir(cache, { recursive: true, mode: 0o700 })
  const pathOf = (id: string) => join(cache, requireBlobId(id))
  let prefix: Promise<string> | undefined
  const findPrefix = () => {
    prefix ??= parts.prefix()
    return prefix
  }
  const keyAt = async (name: string) => `${await findPrefix()}${name.slice(-2)}/${name}`
  const keyOf = async (id: string) => keyAt(requireBlobId(id))
  const requireOwned = createOwner({
    dataDir: parts.dataDir,
    bucket,
    key: async () => `${(await findPrefix()).replace(/\/$/, '')}.owner`,
    spoolPath: near.spoolPath,
  })
  /** Those that are being fetched: who asks for one meanwhile waits with the first. */
  const fetching = new Map<string, Promise<boolean>>()
  /** Until then objects are left to the sweep: a thread of a thousand messages does not wait a thousand times. */
  let restsUntil = 0

  async function copied(id: string): Promise<Content | undefined> {
    const path = pathOf(id)
    const found = await stat(path).catch(absent)
    if (!found) return undefined
    const now = clock.now()
    // One that was read just now is not trimmed.
    await utimes(path, now, now).catch(absent)
    return { kind: 'file', path, sizeBytes: found.size }
  }

  async function fetched(id: string): Promise<boolean> {
    // Several threads and processes may fetch it at once.
    const part = near.spoolPath(`${requireBlobId(id)}-${randomUUID()}`)
    try {
      if (!(await bucket.get(await keyOf(id), part))) return false
      await rename(part, pathOf(id))
      return true
    } finally {
      await rm(part, { force: true })
    }
  }

  /** @throws BlobsFault when the bucket has something else than the file */
  async function compare(id: string, path: string): Promise<void> {
    const part = near.spoolPath(`${requireBlobId(id)}-${randomUUID()}`)
    try {
      const isThere = await bucket.get(await keyOf(id), part)
      if (isThere && (await hashOf(part)) === (await hashOf(path))) return
      throw new BlobsFault(`what the bucket gives for the raw ${id} is not what was put there`)
    } finally {
      await rm(part, { force: true })
    }
  }

  return {
    ...near,
    async copyToBucket(id) {
      const here = await near.find(id)
      if (here?.kind !== 'file') return undefined
      const { path, sizeBytes } = here
      const key = await keyOf(id)
      // First: what is another's there may be deleted by it, and is no reason to let go of the file.
      await requireOwned()
      // It was compared when it was put there: an object is written once, and is whole or not there.
      if ((await bucket.sizeOf(key)) === sizeBytes) return { sizeBytes, isNew: false }
      try {
        await bucket.put(key, path, sizeBytes)
        await compare(id, path)
      } catch (error) {
        // Its message was deleted meanwhile; the sweep of each day removes the object.
        if ((await near.sizeOf(id)) === undefined) return undefined
        throw error
      }
      return { sizeBytes, isNew: true }
    },
    async copyToDisk(id) {
      const known = await near.sizeOf(id)
      if (known !== undefined) return { sizeBytes: known, isNew: false }
      const part = near.spoolPath(`${requireBlobId(id)}-${randomUUID()}`)
      try {
        if (!(await bucket.get(await keyOf(id), part))) return undefined
        const { size } = await stat(part)
        await near.keep(id, part)
        return { sizeBytes: size, isNew: true }
      } finally {
        await rm(part, { force: true })
      }
    },
    async removeFromDisk(id) {
      await near.remove(id)
    },
    async keep(id, spooled) {
      await requireOwned()
      const { size } = await stat(spooled)
      await bucket.put(await keyOf(id), spooled, size)
      // It is read soon: to be delivered, forwarded, shown.
      await rename(spooled, pathOf(id))
    },
    async find(id) {
      const here = (await copied(id)) ?? (await near.find(id))
      if (here) return here
      const known = fetching.get(id)
      const coming = known ?? fetched(id).finally(() => fetching.delete(id))
      if (!known) fetching.set(id, coming)
      return (await coming) ? copied(id) : undefined
    },
    sizeOf: async id => (await near.sizeOf(id)) ?? bucket.sizeOf(await keyOf(id)),
    async remove(id) {
      await rm(pathOf(id), { force: true })
      await near.remove(id)
      if (clock.now().getTime() < restsUntil) return false
      try {
        await requireOwned()
        await bucket.delete(await keyOf(id))
        return true
      } catch (error) {
        // The row is gone: who is told that the object stays could do nothing about it.
        left(error)
        restsUntil = clock.now().getTime() + limits.bucketRestMs
        return false
      }
    },
    async *listDistant() {
      // Once a day, so that who was told to give it up does.
      await requireOwned(true)
      let next: string | undefined
      do {
        const page = await bucket.list(await findPrefix(), next)
        yield page.objects
          .filter(({ ageMs }) => ageMs > limits.strayObjectMs)
          .map(({ key }) => key.slice(key.lastIndexOf('/') + 1))
          .filter(isBlobId)
        next = page.next
      } while (next !== undefined)
    },
    async trimCache() {
      const files = await filesOf(cache)
      let sum = files.reduce((all, { sizeBytes }) => all + sizeBytes, 0)
      const now = clock.now().getTime()
      let removed = 0
      for (const { name, sizeBytes, readAtMs } of files.sort((a, b) => a.readAtMs - b.readAtMs)) {
        const unreadMs = now - readAtMs
        if (unreadMs < limits.cacheKeptMs || (sum <= cacheBytes && unreadMs < limits.cacheOldMs)) break
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
        const key = await keyAt(id)
        await bucket.put(key, sent, id.length)
        const isThere = await bucket.get(key, back)
        await bucket.delete(key)
        if (!isThere || (await readFile(back, 'utf8')) !== id) {
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
  for (const name of await readdir(folder)) {
    const found = await stat(join(folder, name)).catch(absent)
    if (found) files.push({ name, sizeBytes: found.size, readAtMs: found.mtimeMs })
  }
  return files
}

function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}
