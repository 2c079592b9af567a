import type { App } from './app/app.ts'
import { removeLeftCopy } from './backup/copy.ts'
import { requireOthersStopped } from './nodes/list.ts'
import { lockWhileStopped } from './nodes/node-name.ts'
import { readDisk } from './status.ts'

/**
 * Writes the database anew, while no daemon runs: what was deleted or overwritten is nowhere in it from then on, nor in the
 * search index or in what a backup that was killed has left, and a file that an earlier mailboxd made learns to give back what is freed.
 * @returns bytes of the database before and after
 * @throws Problem `unavailable` when a daemon runs
 */
export async function compact(app: App): Promise<{ readonly before: number; readonly after: number }> {
  const { data_dir: dataDir } = app.config
  const unlock = lockWhileStopped(dataDir, 'mailboxd runs, and would stand still meanwhile: stop it first.')
  try {
    await requireOthersStopped(app, app.nodes.id, 'runs, and would stand still meanwhile: stop it first.')
    const sizeOf = async () => {
      const { database, log } = await readDisk(app)
      return database + log
    }
    const before = await sizeOf()
    await removeLeftCopy(dataDir)
    await app.store.compact()
    return { before, after: await sizeOf() }
  } finally {
    unlock()
  }
}
