import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join, resolve } from 'node:path'
import { BlobsFault } from '../../base/blobs-fault.ts'
import { createFile } from '../../base/durable-file.ts'
import { limits } from '../../base/limits.ts'
import { oneLine } from '../../base/one-line.ts'
import { randomBase36 } from '../../base/secret.ts'
import type { Bucket } from './s3.ts'

export interface OwnerParts {
  readonly dataDir: string
  readonly bucket: Bucket
  /** The key of the object that names the owner; it begins with no prefix of raws. */
  readonly key: () => Promise<string>
  readonly spoolPath: (id: string) => string
}

/**
 * Holds copies of an installation off its objects. A backup has the id of its installation, and so the same keys: what is deleted in a
 * copy would be gone for the original. The data directory that comes first writes its name into the bucket, and it is in no backup.
 * @returns what is asked before an object is put or deleted. @param anew of it: also when it was so before @throws BlobsFault of it, when it is another's
 */
export function createOwner({
  dataDir,
  bucket,
  key,
  spoolPath,
}: OwnerParts): (anew?: boolean) => Promise<void> {
  let isOurs = false

  async function read(at: string): Promise<string | undefined> {
    const file = spoolPath(`owner-${randomUUID()}`)
    try {
      const isThere = (await bucket.get(at, file, limits.bucketOwnerBytes)) !== undefined
      return isThere ? await readFile(file, 'utf8') : undefined
    } finally {
      await rm(file, { force: true })
    }
  }

  async function claim(at: string, name: string): Promise<string | undefined> {
    const text = `${name}\n${resolve(dataDir)} on ${hostname()}\n`
    const file = spoolPath(`owner-${randomUUID()}`)
    try {
      await writeFile(file, text)
      await bucket.put(at, file, Buffer.byteLength(text))
    } finally {
      await rm(file, { force: true })
    }
    // Another one may have come at the same time: whose name stays has it.
    return read(at)
  }

  return async (anew = false) => {
    if (isOurs && !anew) return
    const name = await bucketOwnerName(dataDir)
    const at = await key()
    const [owner, where = ''] = ((await read(at)) ?? (await claim(at, name)) ?? '').split('\n')
    isOurs = owner === name
    if (isOurs) return
    // A server that was ended in the middle of a claim may leave it so, and so may whoever is about to take what is another's.
    if (owner === '')
      throw new BlobsFault(
        `the object ${at}, which says whose the objects in the bucket are, is empty: where no other installation uses them, delete it`,
      )
    throw new BlobsFault(
      `the objects in the bucket belong to another copy of this installation (${oneLine(where)}): give this one a bucket of its own or none, or, when that one is stopped for good, delete the object ${at}`,
    )
  }
}

/** The name of the data directory, made when it is first asked for. Nodes of one database share it: it is copied from one to the next. */
export async function bucketOwnerName(dataDir: string): Promise<string> {
  const path = join(dataDir, 'bucket.owner')
  if (!existsSync(path)) await createFile(path, `${randomBase36(24)}\n`)
  return (await readFile(path, 'utf8')).trim()
}
