import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createFile } from '../../base/durable-file.ts'
import { secretKeyBytes } from '../../base/secret-box.ts'

/** The key of the secrets can't be used; the message is a sentence with the repair. */
export class SecretKeyFault extends Error {
  override readonly name = 'SecretKeyFault'
}

export const secretKeyPath = (dataDir: string) => join(dataDir, 'secrets.key')

/** The key in the data directory; undefined when there is no such file. @throws SecretKeyFault when it can't be read, or is none */
export async function readSecretKey(dataDir: string): Promise<Buffer | undefined> {
  const path = secretKeyPath(dataDir)
  let text: string
  try {
    text = await readFile(path, 'latin1')
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error
    if (error.code === 'ENOENT') return undefined
    throw new SecretKeyFault(`${path} can not be read: ${error.message}`, { cause: error })
  }
  if (/^[0-9a-f]{64}\n?$/.test(text)) return Buffer.from(text.trim(), 'hex')
  throw new SecretKeyFault(
    `${path} is damaged: it must hold ${secretKeyBytes * 2} hexadecimal digits; restore it from the backup of the data directory`,
  )
}

/** Makes a key, unless another process is faster, and gives the one that is there then. */
export async function makeSecretKey(dataDir: string): Promise<Buffer> {
  await createFile(secretKeyPath(dataDir), `${randomBytes(secretKeyBytes).toString('hex')}\n`)
  const made = await readSecretKey(dataDir)
  if (!made) throw new SecretKeyFault(`${secretKeyPath(dataDir)} was taken away while mailboxd started`)
  return made
}
