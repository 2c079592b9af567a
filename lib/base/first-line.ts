import { open } from 'node:fs/promises'
import { limits } from './limits.ts'

/** The first line of a file with a secret, read each time it is asked for, so that a new one counts at once. */
export async function readFirstLine(path: string): Promise<string> {
  const file = await open(path)
  try {
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(limits.passwordBytes) })
    return buffer.toString('utf8', 0, bytesRead).split(/\r?\n/)[0] ?? ''
  } finally {
    await file.close()
  }
}
