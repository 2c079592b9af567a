import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Blobs } from './blobs.ts'

/** Large raws in one file each below `data_dir/raw`, in 256 folders by the last two characters of the id. */
export async function openDisk(dataDir: string): Promise<Blobs> {
  const spool = join(dataDir, 'spool')
  const root = join(dataDir, 'raw')
  await mkdir(spool, { recursive: true, mode: 0o700 })
  await mkdir(root, { recursive: true, mode: 0o700 })
  // The last characters of a UUID version 7 are random; the first are the time and would fill one folder.
  const folderOf = (id: string) => join(root, id.slice(-2))
  const pathOf = (id: string) => join(folderOf(id), id)
  return {
    async keep(id, spooled) {
      await mkdir(folderOf(id), { recursive: true, mode: 0o700 })
      await syncFile(spooled)
      await rename(spooled, pathOf(id))
      await syncFile(folderOf(id))
      await syncFile(root)
    },
    async find(id) {
      const path = pathOf(id)
      const found = await stat(path).catch(absent)
      return found && { kind: 'file', path, sizeBytes: found.size }
    },
    sizeOf: async id => (await stat(pathOf(id)).catch(absent))?.size,
    async remove(id) {
      await rm(pathOf(id), { force: true })
      return true
    },
    async list() {
      const folders = await readdir(root)
      return (await Promise.all(folders.map(folder => readdir(join(root, folder))))).flat()
    },
    async *listDistant() {},
    trimCache: async () => 0,
    tryOut: async () => {},
    spoolPath: id => join(spool, id),
    async clearSpool() {
      for (const name of await readdir(spool)) await rm(join(spool, name), { force: true })
    },
    async close() {},
  }
}

/** fsync of a file, or of a folder so that a name in it survives a power cut. */
async function syncFile(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}
