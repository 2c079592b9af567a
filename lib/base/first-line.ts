import { open } from 'node:fs/promises'

/** The file of a smarthost's password. */
const passwordBytes = 4096

/** The first line of a file with a secret, read each time it is asked for, so that a new one counts at once. */
export async function readFirstLine(path: string): Promise<string> {
  const file = await open(path)
  try {
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(passwordBytes) })
    return buffer.toString('utf8', 0, bytesRead).split(/\r?\n/)[0] ?? ''
  } finally {
    await file.close()
  }
}
