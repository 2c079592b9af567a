import { randomUUID } from 'node:crypto'
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { BlobsFault } from '../../base/blobs-fault.ts'
import type { Clock } from '../../base/clock.ts'
import { limits } from '../../base/limits.ts'
import { isBlobId, requireBlobId } from '../blob-id.ts'
import type { BlobFile, Blobs } from '../blobs.ts'
import type { Content } from '../content.ts'
import { openCompared } from './compared.ts'
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
   * Puts a raw that is in the data directory into the bucket, too, and compares what it gives back, once.
   * @returns undefined when it is not in the data directory
   * @throws BlobsFault
   */
  copyToBucket(id: string): Promise<CopiedRaw | undefined>
  /**
   * Puts a raw that is in the bucket into the data directory, too, and makes that durable.
   * @returns undefined when it is in neither
   * @throws BlobsFault, also when what the bucket gives is not as long as the row says
   */
  copyToDisk(file: BlobFile): Promise<CopiedRaw | undefined>
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
  let prefix: Promise<string> | undefined
  const findPrefix = () => {
    prefix ??= parts.prefix()
    return prefix
  }
  const keyAt = async (name: string) => `${await findPrefix()}${name.slice(-2)}/${name}`
  const keyOf = async (id: string) => keyAt(requireBlobId(id))
  const strayPrefix = async () => `${await findPrefix()}stray/`
  const strayKeyOf = async (id: string) => `${await strayPrefix()}${requireBlobId(id)}`
  const requireOwned = createOwner({
    dataDir: parts.dataDir,
    bucket,
    key: async () => `${(await findPrefix()).replace(/\/$/, '')}.owner`,
    spoolPath: near.spoolPath,
  })
  /** Those that are being fetched: who asks for one meanwhile waits with the first. */
  const fetching = new Map<string, Promise<boolean>>()
  /** What moves to the bucket compared. */
  let compared: ReturnType<typeof openCompared> | undefined
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

  /**
   * Has `keep` do what it does with a raw of the bucket, in a file that is gone afterwards.
   * @returns false when there is none @throws BlobsFault when it is longer or shorter than its row says
   */
  async function got(
    { id, sizeBytes }: BlobFile,
    keep: (part: string) => Promise<unknown>,
  ): Promise<boolean> {
    // Several threads and processes may fetch it at once.
    const part = near.spoolPath(`${requireBlobId(id)}-${randomUUID()}`)
    try {
      const came = await bucket.get(await keyOf(id), part, sizeBytes)
      if (came === undefined) return false
      if (came !== sizeBytes)
        throw new BlobsFault(`the bucket gives ${came} bytes for the raw ${id}, which has ${sizeBytes}`)
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
      if (came !== sizeBytes)
        throw new BlobsFault(`the bucket gives ${came} of the ${sizeBytes} bytes of ${from}`)
      await bucket.put(to, part, sizeBytes)
      await bucket.delete(from)
    } finally {
      await rm(part, { force: true })
    }
  }

  /** Whether the bucket gives the bytes of a file here. @throws BlobsFault */
  async function isSame(file: BlobFile, path: string): Promise<boolean> {
    let isEqual = false
    await got(file, async part => {
      isEqual = (await hashOf(part)) === (await hashOf(path))
    })
    return isEqual
  }

  return {
    ...near,
    async copyToBucket(id) {
      const sizeBytes = await near.sizeOf(id)
      const here = sizeBytes === undefined ? undefined : await near.find({ id, sizeBytes, sha256: '' })
      if (sizeBytes === undefined || here?.kind !== 'file') return undefined
      const { path } = here
      const key = await keyOf(id)
      // First: what is another's there may be deleted by it, and is no reason to let go of the file.
      await requireOwned()
      compared ??= findPrefix().then(found => openCompared(parts.dataDir, `${bucket.place}/${found}`))
      const list = await compared
      try {
        if ((await bucket.sizeOf(key)) === sizeBytes) {
          // A length is no proof: a call before this one may have been cut off, or told that the bytes are others.
          if (list.has(id) || (await isSame({ id, sizeBytes, sha256: '' }, path))) {
            await list.add(id)
            return { sizeBytes, isNew: false }
          }
        }
        await bucket.put(key, path, sizeBytes)
        if (!(await isSame({ id, sizeBytes, sha256: '' }, path)))
          throw new BlobsFault(`what the bucket gives for the raw ${id} is not what was put there`)
        await list.add(id)
      } catch (error) {
        // Its message was deleted meanwhile; the sweep of each day removes the object.
        if ((await near.sizeOf(id)) === undefined) return undefined
        throw error
      }
      return { sizeBytes, isNew: true }
    },
    async copyToDisk(file) {
      const { id, sizeBytes } = file
      if ((await near.sizeOf(id)) === sizeBytes) return { sizeBytes, isNew: false }
      // What is here and damaged gives way to what is whole there.
      const isThere = await got(file, part => near.keep(id, part))
      return isThere ? { sizeBytes, isNew: true } : undefined
    },
    async removeFromDisk(id) {
      await near.remove(id)
    },
    async keep(id, spooled) {
      await requireOwned()
      const { size } = await stat(spooled)
      await bucket.put(await keyOf(id), spooled, size)
      // It is read soon: to be delivered, forwarded, shown.
      await moveIntoCache(spooled, id)
    },
    async find(file) {
      const { id } = file
      const here = (await copied(file)) ?? (await near.find(file))
      if (here) return here
      const known = fetching.get(id)
      const coming = known ?? got(file, part => moveIntoCache(part, id)).finally(() => fetching.delete(id))
      if (!known) fetching.set(id, coming)
      return (await coming) ? copied(file) : undefined
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
        const strays = await strayPrefix()
        yield page.objects
          .filter(({ key }) => !key.startsWith(strays))
          .filter(({ ageMs }) => ageMs > limits.strayObjectMs)
          .map(({ key }) => key.slice(key.lastIndexOf('/') + 1))
          .filter(isBlobId)
        next = page.next
      } while (next !== undefined)
    },
    async setAside(id) {
      await rm(pathOf(id), { force: true })
      if ((await near.sizeOf(id)) !== undefined) await near.setAside(id)
      else await moveObject(await keyOf(id), await strayKeyOf(id))
    },
    async takeBack(id) {
      await near.takeBack(id)
      if ((await near.sizeOf(id)) === undefined) await moveObject(await strayKeyOf(id), await keyOf(id))
    },
    async *listStrays() {
      yield* near.listStrays()
      let next: string | undefined
      do {
        const page = await bucket.list(await strayPrefix(), next)
        yield page.objects
          .map(({ key, ageMs }) => ({ id: key.slice(key.lastIndexOf('/') + 1), ageMs }))
          .filter(({ id }) => isBlobId(id))
        next = page.next
      } while (next !== undefined)
    },
    async removeStray(id) {
      await near.removeStray(id)
      await requireOwned()
      await bucket.delete(await strayKeyOf(id))
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
      const list = await compared
      if (list && (await near.list()).length === 0) await list.forget()
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
