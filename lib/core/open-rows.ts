import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import {
  DatabaseDamaged,
  isStorageFault,
  SchemaFault,
  StorageForbidden,
  StorageUnreachable,
  withInodes,
} from '../base/faults.ts'
import { findForbidden, tellForbidden } from '../base/file-permissions.ts'
import type { Ids } from '../base/ids.ts'
import type { Log } from '../base/log.ts'
import { type Meter, noMeter } from '../base/metrics.ts'
import { createOutage, type Outage } from '../base/outage.ts'
import { readFirstLine } from '../base/text.ts'
import type { Clock } from '../base/time.ts'

import type { Config } from '../config/load.ts'
import { openReader, openStore, type Store } from '../store/open.ts'
import type { NodeHold } from '../store/postgres/hold.ts'
import { requireTime } from '../store/postgres/state.ts'
import { findSecretKey } from '../store/secrets.ts'
import type { Rows } from './app/app.ts'
import { createStorage, noteDamage, requireWhole } from './app/storage.ts'
import { requireFinished } from './backup/unfinished.ts'
import { findForbiddenFile } from './data-access.ts'
import { databaseName, isDatabaseFileEmpty, requireNoTraces } from './missing-database.ts'
import { nodeName } from './nodes/node-name.ts'

/** How long all writes must succeed before an outage of the database counts as over. */
export const outageSteadyMs = 5_000

export interface RowsParts {
  readonly config: Config
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  /** Nothing is counted without one. */
  readonly meter?: Meter
  /** Whether a database of an older schema is brought up to date: by the daemon, which has it for itself, and nobody else. */
  readonly mayMigrate: boolean
  /** What a daemon holds on the server while it asks it for anything. */
  readonly hold?: NodeHold
}

/** Where the SQLite file of a data directory is. */
export const databasePath = (dataDir: string) => join(dataDir, databaseName)

/** Where the rows are, as `openStore` and `openReader` take it: the file in the data directory, or a server with its password. */
export async function databaseOf({
  data_dir: dataDir,
  database,
  postgres: { password_file: file },
}: Pick<Config, 'data_dir' | 'database' | 'postgres'>): Promise<string> {
  if (database === undefined) return databasePath(dataDir)
  return file === undefined ? database : withPassword(database, await readFirstLine(file))
}

/** That a table is not there: undefined_table of PostgreSQL, and what SQLite says of a wrong statement. */
const noTable = ['42P01', 'SQLITE_ERROR']

/**
 * Whether secrets are sealed in a database, or why that is not known where it can't be read.
 * @param location as of `databaseOf`
 */
export async function hasSecrets(location: string): Promise<boolean | Error> {
  try {
    const { read, close } = await openReader(location)
    try {
      return (await findSecretKey(read)) !== undefined
    } finally {
      await close()
    }
  } catch (error) {
    if (error instanceof StorageUnreachable) return error
    if (!(error instanceof Error && 'code' in error)) throw error
    return noTable.includes(String(error.code)) ? false : error
  }
}

/** The URL of a server with the password of its user. */
export function withPassword(url: string, password: string): string {
  return `${url}${url.includes('?') ? '&' : '?'}password=${encodeURIComponent(password)}`
}

/**
 * Opens the database of an installation (made when missing, by who may migrate), and nothing else of it.
 * @throws SchemaFault when it is of another version than this program, and may not be brought up to date or not by it; StorageForbidden; StorageUnreachable where it can not
 * be asked, or its server's clock is another; BackupFault where half of a restored one is; DatabaseMissing
 */
export async function openRows(parts: RowsParts): Promise<Rows> {
  const { config, clock, ids, log, meter = noMeter } = parts
  await mkdir(config.data_dir, { recursive: true, mode: 0o700 })
  requireFinished(config.data_dir)
  const beforeMigration = async (lastStep: number) => {
    if (!parts.mayMigrate) {
      throw new SchemaFault(
        'the database is of an older mailboxd than this program: start mailboxd, which brings it up to date, or use the older mailboxctl',
      )
    }
    // The operator has backups of the server, from which there is a way back.
    if (config.database !== undefined) return
    const { keepBeforeUpgrade } = await import('./backup/upgrade.ts')
    await keepBeforeUpgrade(config.data_dir, lastStep, log)
  }
  const forbidden = findForbidden(config.data_dir, 'read', config.data_dir)
  // Of another's directory this user may be no more than one who asks.
  if (forbidden?.isOwn) throw new StorageForbidden(tellForbidden(forbidden))
  requireOwnFiles(config.data_dir)
  // Before it is opened: to open one that is missing makes one.
  if (config.database === undefined && isDatabaseFileEmpty(config.data_dir)) await requireNoTraces(config)
  // That nothing can be written is told once, however many try.
  const outage = createOutage(parts, {
    begin: 'the database can not be written: nothing is promised meanwhile',
    end: 'the database can be written again',
    // A server that is short of something does some of what it is asked. On a file nothing would be written to see the end.
    steadyMs: config.database === undefined ? 0 : outageSteadyMs,
  })
  let last: StorageUnreachable | undefined
  const failed = (error: StorageUnreachable) => {
    last = error
    outage.failed({ why: error.message })
  }
  parts.hold?.onLost(failed)
  const storage = createStorage()
  const damage = {
    // A command says itself what it met.
    found: (found: DatabaseDamaged) => parts.mayMigrate && noteDamage(storage.shared, found, log),
    requireWhole: () => requireWhole(storage.shared),
  }
  const store = await openStore(await databaseOf(config), clock, {
    beforeMigration,
    beforeFirstTables: () => requireNoTraces(config),
    damage,
    meter,
    connections: config.postgres.connections,
    ...(parts.mayMigrate && config.database !== undefined && { node: await nodeName(config.data_dir) }),
    outage: { ...(parts.hold && { hold: parts.hold }), failed },
  }).catch(error => {
    throw withInodes(error, config.data_dir)
  })
  // What a daemon holds looks all the time.
  if (config.database !== undefined && parts.hold === undefined) {
    await requireTime(store.read, clock).catch(async error => {
      await store.close()
      throw error
    })
  }
  const shortage = () => (outage.isTold && last?.isShortage ? last : undefined)
  const telling = tellingOutages(store, outage)
  return { config, clock, ids, log, meter, store: telling, storage, shortage, hold: parts.hold }
}

/** @throws StorageForbidden: SQLite itself says neither which file it is nor whose */
function requireOwnFiles(dataDir: string): void {
  const forbidden = findForbiddenFile(dataDir)
  if (forbidden) throw new StorageForbidden(tellForbidden(forbidden))
}

function tellingOutages(store: Store, outage: Outage): Store {
  const telling = async <T>(written: Promise<T>): Promise<T> => {
    try {
      const value = await written
      outage.worked()
      return value
    } catch (error) {
      // That of a server was told by who asked it, and damage by who found it.
      const isTold = error instanceof StorageUnreachable || error instanceof DatabaseDamaged
      if (isStorageFault(error) && !isTold) outage.failed({ err: error })
      throw error
    }
  }
  return {
    ...store,
    write: (...given) => telling(store.write(...given)),
    writeHolding: (...given) => telling(store.writeHolding(...given)),
    // A file is not known to be written before it is synced.
    writeUnsynced: work =>
      store.dialect === 'sqlite' ? store.writeUnsynced(work) : telling(store.writeUnsynced(work)),
  }
}
