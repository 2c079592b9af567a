import { writeFile } from 'node:fs/promises'
import { limits } from '../base/limits.ts'
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
