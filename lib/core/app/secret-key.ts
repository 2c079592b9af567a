import { randomBytes } from 'node:crypto'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { forbiddenOf, tellForbidden } from '../../base/file-permissions.ts'
import { createFile, replaceFile } from '../../base/files.ts'
import { secretKeyBytes } from '../../base/secrets.ts'

/** The key of the secrets can't be used; the message is a sentence with the repair. */
export class SecretKeyFault extends Error {
  override readonly name = 'SecretKeyFault'
}

export const secretKeyPath = (dataDir: string) => join(dataDir, 'secrets.key')

/** Where the key stands that is to come (lib/core/app/rotation.ts). */
const nextKeyPath = (dataDir: string) => `${secretKeyPath(dataDir)}.next`

/** The key in the data directory; undefined when there is no such file. @throws SecretKeyFault when it can't be read, or is none */
export function readSecretKey(dataDir: string): Promise<Buffer | undefined> {
  return readKeyFile(secretKeyPath(dataDir), dataDir)
}

/** The key that is to come; undefined when there is none. @throws SecretKeyFault as `readSecretKey` */
export function readNextKey(dataDir: string): Promise<Buffer | undefined> {
  return readKeyFile(nextKeyPath(dataDir), dataDir)
}

async function readKeyFile(path: string, dataDir: string): Promise<Buffer | undefined> {
  let text: string
  try {
    text = await readFile(path, 'latin1')
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error
    if (error.code === 'ENOENT') return undefined
    const forbidden = forbiddenOf(error, dataDir)
    const why = forbidden ? tellForbidden(forbidden) : error.message
    throw new SecretKeyFault(`${path} can not be read: ${why}`, { cause: error })
  }
  if (/^[0-9a-f]{64}\n?$/.test(text)) return Buffer.from(text.trim(), 'hex')
  throw new SecretKeyFault(
    `${path} is damaged: it must hold ${secretKeyBytes * 2} hexadecimal digits; restore it from the backup of the data directory`,
  )
}

/** Makes a key, unless another process is faster, and gives the one that is there then. */
export async function makeSecretKey(dataDir: string): Promise<Buffer> {
  await createFile(secretKeyPath(dataDir), textOf(randomBytes(secretKeyBytes)))
  const made = await readSecretKey(dataDir)
  if (!made) throw new SecretKeyFault(`${secretKeyPath(dataDir)} was taken away while mailboxd started`)
  return made
}

/** Makes a key that is to come; it is on the disk when this resolves. */
export async function makeNextKey(dataDir: string): Promise<Buffer> {
  const key = randomBytes(secretKeyBytes)
  await replaceFile(nextKeyPath(dataDir), textOf(key))
  return key
}

/** Puts the key that was to come in the place of the one before. */
export async function installNextKey(dataDir: string, key: Buffer): Promise<void> {
  await replaceFile(secretKeyPath(dataDir), textOf(key))
  await rm(nextKeyPath(dataDir), { force: true })
}

const textOf = (key: Buffer) => `${key.toString('hex')}\n`
