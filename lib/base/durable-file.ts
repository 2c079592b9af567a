import { link, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { randomBase62 } from './secret.ts'

/** Puts `text` at `path`, for its owner alone (mode 0600), so that a crash leaves the old file or the new one, whole. */
export async function replaceFile(path: string, text: string): Promise<void> {
  await writeBeside(path, text, temporary => rename(temporary, path))
}

/**
 * The same where there must be no file yet: of two processes that make it at once one does, and never is half of it seen.
 * Gives whether it was this one.
 */
export async function createFile(path: string, text: string): Promise<boolean> {
  let isMade = true
  await writeBeside(path, text, async temporary => {
    try {
      await link(temporary, path)
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
      isMade = false
    }
    await rm(temporary)
  })
  return isMade
}

/** Has `place` move a synced file with `text` to where it belongs, and makes that durable. */
async function writeBeside(
  path: string,
  text: string,
  place: (temporary: string) => Promise<void>,
): Promise<void> {
  const temporary = `${path}.${randomBase62(8)}`
  try {
    const file = await open(temporary, 'wx', 0o600)
    try {
      await file.writeFile(text)
      await file.sync()
    } finally {
      await file.close()
    }
    await place(temporary)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
  await syncFolder(dirname(path))
}

/** Makes durable which names a folder has. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path)
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
