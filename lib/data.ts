import { mkdir } from 'node:fs/promises'
import type { Config } from './config/load.ts'
import { daemonLockPath } from './core/app/node-name.ts'
import { requireFinished } from './core/backup/unfinished.ts'
import { openApp } from './core/open.ts'
import { databaseOf } from './core/open-rows.ts'
import { lockDataDirectory } from './store/dialect/lock.ts'
import type { ServerLock } from './store/postgres/lock.ts'

/** Keeps every other daemon from the database, where it is on a server. @throws DataDirectoryBusy */
async function holdServer(config: Config): Promise<ServerLock | undefined> {
  if (config.database === undefined) return undefined
  const { lockServer } = await import('./store/postgres/lock.ts')
  return lockServer(await databaseOf(config))
}

/**
 * Opens the data directory, which is made when missing, and what belongs to it, for this process alone.
 * @param closing is given what closes each part, in the order of their opening
 * @throws DataDirectoryBusy, BackupFault, SchemaFault, StorageUnreachable
 */
export async function openData(parts: Parameters<typeof openApp>[0], closing: (() => unknown)[]) {
  await mkdir(parts.config.data_dir, { recursive: true, mode: 0o700 })
  requireFinished(parts.config.data_dir)
  closing.push(lockDataDirectory(daemonLockPath(parts.config.data_dir)))
  const alone = await holdServer(parts.config)
  closing.push(() => alone?.release())
  const opened = await openApp(parts)
  closing.push(() => opened.app.store.close())
  closing.push(() => opened.app.blobs.close())
  const { mailReader, renderer, textReader } = opened.app
  closing.push(() => Promise.all([mailReader.stop(), renderer.stop(), textReader.stop()]))
  return { ...opened, alone }
}
