import { hash, randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join, resolve } from 'node:path'
import { BlobsFault } from '../../base/faults.ts'
import { createFile } from '../../base/files.ts'
import { randomBase36 } from '../../base/secrets.ts'
import { oneLine } from '../../base/text.ts'
import type { Bucket } from './s3.ts'

/** Bytes that are read of the object that names the installation that a bucket belongs to. */
const bucketOwnerBytes = 16 * 1024

export interface OwnerParts {
  readonly dataDir: string
  readonly bucket: Bucket
  /** The key of the object that names the owner. */
  readonly key: string
  readonly spoolPath: (id: string) => string
}

/**
 * Keeps other installations, and copies of this one, off the objects below a prefix: what a restored backup deletes would be gone for the
 * original. The data directory that comes first writes its name there. The name is in no backup.
 * @returns is called before an object is put or deleted; with `again` it asks the bucket even if it did before. It throws BlobsFault
 * if the objects are another's
 */
export function createOwner({
  dataDir,
  bucket,
  key,
  spoolPath,
}: OwnerParts): (again?: boolean) => Promise<void> {
  let isOurs = false

  async function read(): Promise<string | undefined> {
    const file = spoolPath(`owner-${randomUUID()}`)
    try {
      const isThere = (await bucket.get(key, file, bucketOwnerBytes)) !== undefined
      return isThere ? await readFile(file, 'utf8') : undefined
    } finally {
      await rm(file, { force: true })
    }
  }

  async function claim(name: string): Promise<string | undefined> {
    const text = `${name}\n${resolve(dataDir)} on ${hostname()}\n`
    const file = spoolPath(`owner-${randomUUID()}`)
    try {
      await writeFile(file, text)
      await bucket.put(key, file, { sizeBytes: Buffer.byteLength(text), sha256: hash('sha256', text) })
    } finally {
      await rm(file, { force: true })
    }
    // Another one may have come at the same time: the name that stays is that of the owner.
    return read()
  }

  return async (again = false) => {
    if (isOurs && !again) return
    const name = await bucketOwnerName(dataDir)
    const [owner, where = ''] = ((await read()) ?? (await claim(name)) ?? '').split('\n')
    isOurs = owner === name
    if (isOurs) return
    // A server that was ended in the middle of a claim may leave it so.
    if (owner === '')
      throw new BlobsFault(
        `the object ${key}, which says whose the objects in the bucket are, is empty: if no other installation uses them, delete it`,
      )
    throw new BlobsFault(
      `the objects in the bucket belong to another installation or to the original of this copy (${oneLine(where)}): give this one another bucket or prefix (\`blobs\`), or, if that one is stopped for good, delete the object ${key}`,
    )
  }
}

/** The name of the data directory, made when it is first asked for. Nodes of one database share it: it is copied from one to the next. */
export async function bucketOwnerName(dataDir: string): Promise<string> {
  const path = join(dataDir, 'bucket.owner')
  if (!existsSync(path)) await createFile(path, `${randomBase36(24)}\n`)
  return (await readFile(path, 'utf8')).trim()
}
