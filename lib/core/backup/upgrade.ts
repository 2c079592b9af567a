import { open, readdir, rm, stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { SchemaFault } from '../../base/faults.ts'
import type { Log } from '../../base/log.ts'
import { snapshotDatabase } from '../../store/dialect/snapshot.ts'
import type { App } from '../app/app.ts'
import { backupRoomBytes } from './backup.ts'
import { names } from './contents.ts'

/** How long the database is kept as it was before an upgrade. */
const beforeUpgradeMs = 7 * 86_400_000

const form = /^before-upgrade-\d+\.sqlite$/

/**
 * Keeps the database as it is before an upgrade changes it, beside it, so that there is a way back to the program of before.
 * It is on the disk when this resolves.
 * @param lastStep the number of the last migration that it has
 * @throws SchemaFault when there is no room for it
 */
export async function keepBeforeUpgrade(dataDir: string, lastStep: number, log: Log): Promise<void> {
  const database = join(dataDir, names.database)
  const kept = join(dataDir, `before-upgrade-${lastStep}.sqlite`)
  const { size } = await stat(database)
  const { bavail, bsize } = await statfs(dataDir)
  if (bavail * bsize < size + backupRoomBytes) {
    throw new SchemaFault(
      `the database must be brought up to date, and to keep it as it is before that, ${size + backupRoomBytes} free bytes are needed in ${dataDir}: make room`,
    )
  }
  // One that was cut off.
  await rm(kept, { force: true })
  await snapshotDatabase(database, kept)
  const file = await open(kept, 'r')
  await file.sync().finally(() => file.close())
  log.info({ kept }, 'the database is brought up to date; as it was before, it is kept for a week')
}

/** Removes what was kept before upgrades longer than `beforeUpgradeMs` ago; gives how many files. */
export async function expireBeforeUpgrade({
  config,
  clock,
}: {
  readonly config: Pick<App['config'], 'data_dir'>
  readonly clock: Pick<App['clock'], 'now'>
}): Promise<number> {
  let count = 0
  for (const name of await readdir(config.data_dir)) {
    if (!form.test(name)) continue
    const path = join(config.data_dir, name)
    const { mtimeMs } = await stat(path)
    if (mtimeMs > clock.now().getTime() - beforeUpgradeMs) continue
    await rm(path, { force: true })
    count++
  }
  return count
}
