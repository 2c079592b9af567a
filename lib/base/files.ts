import { link, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { randomBase62 } from './secrets.ts'

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

/** The URL of a database's server as it may be shown and kept: without a password. */
export function withoutPassword(url: string): string {
  // A URL of several servers is none that `URL` reads.
  const [place = '', query] = url.split('?', 2)
  const bare = place.replace(/^([^/]*\/\/[^/:@]*):[^/]*@/, '$1@')
  const asked = new URLSearchParams(query)
  if (!asked.has('password')) return query === undefined ? bare : `${bare}?${query}`
  asked.delete('password')
  return asked.size === 0 ? bare : `${bare}?${asked}`
}

/**
 * The chunks of a stream. When no more are wanted the stream is destroyed in silence: its own iterator would destroy it
 * with an error that nobody awaits.
 */
export async function* chunksOf(stream: Readable): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of stream.iterator({ destroyOnReturn: false })) yield chunk as Buffer
  } finally {
    stream.destroy()
  }
}

/** The content in pieces with a turn of the event loop between them, so that encoding 25 MB does not hold up others. */
export function inSlices(content: Buffer, sliceBytes: number): Readable {
  async function* slices(): AsyncGenerator<Buffer> {
    for (let at = 0; at < content.length; at += sliceBytes) {
      await setImmediate()
      yield content.subarray(at, at + sliceBytes)
    }
  }
  return Readable.from(slices(), { objectMode: false })
}
