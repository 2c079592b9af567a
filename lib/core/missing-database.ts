import { existsSync, statSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { foldersOfRaws } from '../blob/disk.ts'
import type { Config } from '../config/load.ts'

/** There is no database where an installation has left other files. The message is a sentence that says what to do. */
export class DatabaseMissing extends Error {
  override readonly name = 'DatabaseMissing'
}

/** The name of the SQLite file in a data directory. */
export const databaseName = 'mailboxd.sqlite'

/** What the file of a database is called after its rows were moved to a server. */
export const movedAway = (path: string) => `${path}.moved`

/** Whether there is no SQLite file, or one of 0 bytes. @throws what the system says where this user may not look */
export function isDatabaseFileEmpty(dataDir: string): boolean {
  return (statSync(join(dataDir, databaseName), { throwIfNoEntry: false })?.size ?? 0) === 0
}

/**
 * Files that mailboxd writes only after its database has tables. A first start that was killed leaves none of them without a database,
 * so it can be repeated. `node` is older than the rows where those are on a server.
 */
const writtenLater = ['secrets.key', 'secrets.key.next', 'bucket.owner', 'raw.used', 'running.json']

/** Names of what an installation has left in a data directory, apart from its database. */
async function findTraces(dataDir: string, isOnServer: boolean): Promise<string[]> {
  const fixed = [...writtenLater, ...(isOnServer ? [] : ['node'])]
  const names = fixed.filter(name => existsSync(join(dataDir, name)))
  // To open an empty database would delete its log. On a server, rows that were not moved there are in the file.
  for (const name of isOnServer ? [databaseName] : [`${databaseName}-wal`]) {
    if (((await stat(join(dataDir, name)).catch(() => undefined))?.size ?? 0) > 0) names.push(name)
  }
  const all = await readdir(dataDir).catch(() => [])
  names.push(...all.filter(name => /^before-upgrade-\d+\.sqlite$/.test(name)))
  if ((await foldersOfRaws(dataDir)).length > 0) names.push('raw/')
  return names
}

/**
 * Refuses to make a database where an installation had one: a new one would know none of its mailboxes and none of its files.
 * Asked when the database is missing, of 0 bytes, or without tables.
 * @throws DatabaseMissing
 */
export async function requireNoTraces({ data_dir: dataDir, database }: Config): Promise<void> {
  const isOnServer = database !== undefined
  const traces = await findTraces(dataDir, isOnServer)
  if (traces.length === 0) return
  const path = join(dataDir, databaseName)
  const missing = isOnServer
    ? 'the database on the PostgreSQL server is empty'
    : `the database ${path} is ${existsSync(path) ? 'empty' : 'missing'}`
  const getBack = isOnServer
    ? 'Name the right database in `database`, or restore it on the server (pg_restore)' +
      (traces.includes(databaseName)
        ? `. If its rows are still in ${databaseName}, remove \`database\` from the configuration and run mailboxctl migrate`
        : '')
    : existsSync(movedAway(path))
      ? `Its rows were moved to a PostgreSQL server (mailboxctl migrate): set \`database\` in the configuration. To go back to the rows of that time, rename ${movedAway(path)} to ${path}`
      : `Mount the disk that has it, or move it back. If it is lost, restore the last backup: mv ${dataDir} ${dataDir}.old, then mailboxctl restore <backup>`
  throw new DatabaseMissing(
    `${missing}, but ${dataDir} has files of an installation: ${traces.join(', ')}. ${getBack}. To start a new installation on purpose, move ${dataDir} away`,
  )
}
