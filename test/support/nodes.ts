import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { startBucket } from './bucket.ts'
import { type DaemonSettings, startDaemon, type TestDaemon } from './daemon.ts'
import { newPostgresDatabase } from './databases.ts'
import { migratedDatabase } from './postgres.ts'
import { temporaryDir } from './temporary-dir.ts'

/** A new data directory for another node of the installation of this one, which its operator has given its key and its name in the bucket. */
export function newNodeDir(t: Test, { dataDir }: TestDaemon): string {
  const dir = join(temporaryDir(t), 'data')
  mkdirSync(dir, { mode: 0o700 })
  for (const name of ['secrets.key', 'bucket.owner']) copyFileSync(join(dataDir, name), join(dir, name))
  return dir
}

/**
 * Several daemons on one PostgreSQL, with their large messages in one bucket.
 * @param settings of all of them; the TOML is of tables
 * @param top TOML above the first table
 */
export async function startNodes(
  t: Test,
  count: number,
  settings: DaemonSettings = {},
  top = '',
): Promise<TestDaemon[]> {
  const { toml } = await startBucket(t)
  const shared = {
    ...settings,
    database: settings.database ?? (await newPostgresDatabase(migratedDatabase)),
    toml: `${top}${toml}${settings.toml ?? ''}`,
  }
  const nodes = [await startDaemon(t, shared)]
  while (nodes.length < count)
    nodes.push(await startDaemon(t, { ...shared, dataDir: newNodeDir(t, nodes[0]!) }))
  return nodes
}
