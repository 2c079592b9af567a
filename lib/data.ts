import { mkdir } from 'node:fs/promises'
import { StorageForbidden } from './base/faults.ts'
import { findForbidden, tellForbidden } from './base/file-permissions.ts'
import { requireFinished } from './core/backup/unfinished.ts'
import { findForbiddenFile } from './core/data-access.ts'
import { daemonLockPath, nodeName } from './core/nodes/node-name.ts'
import { openApp } from './core/open.ts'
import { databaseOf } from './core/open-rows.ts'
import { readRunning } from './core/running.ts'
import { DataDirectoryBusy, lockDataDirectory } from './store/dialect/lock.ts'
import { requireOurs } from './store/open.ts'
import type { NodeHold } from './store/postgres/hold.ts'

type OpenParts = Parameters<typeof openApp>[0]

/** Keeps everybody from the database, where it is on a server, who must have it alone; other nodes only until this one has joined them. @throws DataDirectoryBusy */
async function holdServer({ config, clock }: OpenParts): Promise<NodeHold | undefined> {
  if (config.database === undefined) return undefined
  const { holdNode } = await import('./store/postgres/hold.ts')
  return holdNode({
    url: await databaseOf(config),
    node: await nodeName(config.data_dir),
    clock,
    requireSame: requireOurs,
  })
}

/** @throws DataDirectoryBusy, with who holds it where that one has said so */
async function lock(dataDir: string): Promise<() => void> {
  try {
    return lockDataDirectory(daemonLockPath(dataDir))
  } catch (error) {
    if (!(error instanceof DataDirectoryBusy)) throw error
    const { last } = await readRunning(dataDir)
    // What is left of one that was killed says nothing of who holds it now.
    if (!last || last.stoppedAt !== null || !isAlive(last.pid)) throw error
    throw new DataDirectoryBusy(
      `${error.message}: it is process ${last.pid}, with its API at ${last.http.join(', ')}. Use that one, end it, or start this one on other data`,
    )
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    // It is another user's.
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

/**
 * Opens the data directory, which is made when missing, and what belongs to it, for this process alone; and joins the other nodes on its
 * database.
 * @param closing is given what closes each part, in the order of their opening
 * @throws DataDirectoryBusy, StorageForbidden, BackupFault, SchemaFault, StorageUnreachable; BlobsFault as `Nodes.join`
 */
export async function openData(parts: OpenParts, closing: (() => unknown)[]) {
  const { data_dir: dataDir } = parts.config
  // SQLite itself says neither which file it is nor whose.
  const forbidden = findForbidden(dataDir, 'write', dataDir) ?? findForbiddenFile(dataDir)
  if (forbidden) throw new StorageForbidden(tellForbidden(forbidden))
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  requireFinished(dataDir)
  closing.push(await lock(dataDir))
  const hold = await holdServer(parts)
  closing.push(() => hold?.release())
  const opened = await openApp({ ...parts, ...(hold && { hold }) })
  const { store, nodes } = opened.app
  closing.push(() => store.close())
  await nodes.join()
  closing.push(() => nodes.leave())
  closing.push(store.hearOthers())
  await hold?.letOthersStart()
  closing.push(() => opened.app.blobs.close())
  const { mailReader, renderer, textReader } = opened.app
  closing.push(() => Promise.all([mailReader.stop(), renderer.stop(), textReader.stop()]))
  return { ...opened, hold }
}
