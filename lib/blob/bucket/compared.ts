import { appendFile, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** The files whose bytes a move has compared with what the bucket gave, over all its calls. */
export interface Compared {
  has(id: string): boolean
  add(id: string): Promise<void>
  /** For when no file is left that could be moved. */
  forget(): Promise<void>
}

/**
 * Kept in `data_dir/bucket.compared`: what was compared while the daemon ran is not fetched again when it is stopped, and what was only put there, or
 * came back otherwise, is not believed for its length. A line that a crash cut off is no id, and the next begins behind it.
 * @param place the bucket and what stands before the keys; for another one all is compared anew
 */
export async function openCompared(dataDir: string, place: string): Promise<Compared> {
  const path = join(dataDir, 'bucket.compared')
  const [where, ...lines] = (await readFile(path, 'utf8').catch(absent)).split('\n')
  const ids = new Set(where === place ? lines : [])
  if (ids.size === 0) await writeFile(path, place, { mode: 0o600 })
  return {
    has: id => ids.has(id),
    async add(id) {
      if (ids.has(id)) return
      ids.add(id)
      await appendFile(path, `\n${id}`)
    },
    async forget() {
      ids.clear()
      await rm(path, { force: true })
    },
  }
}

function absent(error: NodeJS.ErrnoException): string {
  if (error.code !== 'ENOENT') throw error
  return ''
}
