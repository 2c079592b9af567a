import { rm, stat } from 'node:fs/promises'
import { Worker } from 'node:worker_threads'
import { threadEntry } from '../../base/threads.ts'

/** How often it is told how far a snapshot has come. */
const toldMs = 200

/**
 * Copies a SQLite database that others are writing to, as it is at one moment, into a new file; nobody waits for it, and
 * what was deleted is not in the copy. It is done in a thread of its own, and is not fsynced.
 * @param told called now and then with the bytes of the copy and, about, what they will be
 */
export async function snapshotDatabase(
  path: string,
  to: string,
  told: (bytes: number, ofBytes: number) => void = () => {},
): Promise<void> {
  const { size } = await stat(path)
  const telling = setInterval(() => {
    void stat(to).then(
      copy => told(Math.min(copy.size, size), size),
      () => {},
    )
  }, toldMs)
  try {
    const ended = Promise.withResolvers<void>()
    const worker = new Worker(threadEntry('store/dialect/snapshot-worker'), { workerData: { path, to } })
    worker.on('error', ended.reject)
    worker.on('exit', () => ended.resolve())
    await ended.promise
  } catch (error) {
    await rm(to, { force: true })
    throw error
  } finally {
    clearInterval(telling)
  }
}
