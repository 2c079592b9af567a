import { existsSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { BackupFault, SchemaFault } from '../base/faults.ts'
import { syncFolder, withoutPassword } from '../base/files.ts'
import type { Clock } from '../base/time.ts'

import { postgresQueryFault } from '../config/postgres-query.ts'
import { findAccount } from '../store/account.ts'
import { isServer } from '../store/dialect/dialect.ts'
import { DataDirectoryBusy, lockDataDirectory } from '../store/dialect/lock.ts'
import { listOtherNodes } from '../store/living-nodes.ts'
import { CopyDiffers, copyRows, findOccupant, type TableDigest, type Told } from '../store/moving/copy.ts'
import { openReader, openStore } from '../store/open.ts'
import { requireUtf8, toldForbidden } from '../store/postgres/state.ts'
import { movedAway } from './missing-database.ts'
import { daemonLockPath } from './nodes/node-name.ts'
import { databasePath, withPassword } from './open-rows.ts'

export interface MoveParts {
  readonly dataDir: string
  /** Where the rows are, and where they are to be, as of `openStore`. */
  readonly from: string
  readonly to: string
  readonly clock: Clock
  readonly told: Told
}

/**
 * Copies the rows of an installation to an empty database, with all daemons stopped, and compares the count and the checksum
 * of each table. If it is cut off, it starts over into an empty database. The rows stay where they were, for a way back; a
 * file is renamed (`movedAway`), so that no daemon goes on with it.
 * @returns what is there now
 * @throws BackupFault, SchemaFault, StorageUnreachable
 */
export async function moveRows({ dataDir, from, to, clock, told }: MoveParts): Promise<TableDigest[]> {
  if (!isServer(from) && !existsSync(from)) throw new BackupFault(`there are no rows in ${from}`)
  const free = await lockInstallation(dataDir, from)
  try {
    const freeTarget = await lockRows(to).catch(error => {
      if (!(error instanceof DataDirectoryBusy)) throw error
      throw new BackupFault('a mailboxd runs on the database where the rows are to go: name an empty one')
    })
    try {
      const tables = await copyAll({ from, to, clock, told })
      if (!isServer(from)) await rename(from, movedAway(from))
      return tables
    } finally {
      await freeTarget()
    }
  } finally {
    await free()
  }
}

async function copyAll({ from, to, clock, told }: Omit<MoveParts, 'dataDir'>): Promise<TableDigest[]> {
  const refuse = () =>
    Promise.reject(new SchemaFault('the rows are of an older mailboxd: start this one first'))
  const source = await openStore(from, clock, { beforeMigration: refuse })
  try {
    // If several nodes write at once, events get their places in the stream after their writes.
    await source.placed()
    if (!(await findAccount(source.read)))
      throw new BackupFault('the installation has no account yet: start mailboxd once')
    if (isServer(to)) {
      await requireEmptyServer(to)
      return await copyInto(to, source.read, clock, told)
    }
    if (existsSync(to)) throw new BackupFault(`${to} exists already: move it away first`)
    // A copy that was cut off is not taken for a database.
    const arriving = `${to}.moving`
    for (const end of ['', '-wal', '-shm']) await rm(`${arriving}${end}`, { force: true })
    const tables = await copyInto(arriving, source.read, clock, told)
    await rename(arriving, to)
    await syncFolder(dirname(to))
    return tables
  } finally {
    await source.close()
  }
}

async function copyInto(
  to: string,
  read: Parameters<typeof copyRows>[0],
  clock: Clock,
  told: Told,
): Promise<TableDigest[]> {
  const target = await openStore(to, clock).catch(asNotOurs)
  try {
    return await copyRows(read, target, told)
  } catch (error) {
    if (!(error instanceof CopyDiffers)) throw error
    throw new BackupFault(`the copy is not what was copied (${error.message}): run it again`)
  } finally {
    await target.close()
  }
}

/**
 * Where rows are to be moved, as of `openStore`.
 * @param to the URL of a PostgreSQL server, or `sqlite` for the file of the data directory
 * @throws BackupFault for anything else
 */
export function targetOf(dataDir: string, to: string, password: string | undefined): string {
  if (to === 'sqlite') return databasePath(dataDir)
  if (!isServer(to)) throw new BackupFault(`--to ${to}: give postgres://user@host/database, or sqlite`)
  const fault = postgresQueryFault(to.split('?')[1] ?? '')
  if (fault !== undefined) throw new BackupFault(`--to ${withoutPassword(to)} ${fault}`)
  return password === undefined ? to : withPassword(to, password)
}

/** @throws BackupFault, SchemaFault; what is there stays as it is */
async function requireEmptyServer(url: string): Promise<void> {
  const { read, close } = await openReader(url)
  try {
    await requireUtf8(read)
    const occupant = await findOccupant(read).catch(asNotOurs)
    if (occupant !== undefined) throw new BackupFault(occupant)
  } catch (error) {
    throw await toldForbidden(read, error)
  } finally {
    await close()
  }
}

/** @throws BackupFault if the server says that a table or column is missing, or exists already (class 42, but for 42501, a right that is missing) */
function asNotOurs(error: Error & { readonly code?: unknown }): never {
  if (!/^42(?!501)...$/.test(String(error.code))) throw error
  throw new BackupFault(
    `what is in the database where the rows are to go is not as mailboxd made it (${error.message}): name an empty database`,
  )
}

/**
 * Keeps daemons from an installation.
 * @param from where its rows are, as of `openStore`
 * @returns lets them start again
 * @throws BackupFault if one runs
 */
export async function lockInstallation(dataDir: string, from: string): Promise<() => Promise<void>> {
  let freeDirectory = () => {}
  try {
    freeDirectory = lockDataDirectory(daemonLockPath(dataDir))
    const freeRows = await lockRows(from)
    return async () => {
      await freeRows()
      freeDirectory()
    }
  } catch (error) {
    freeDirectory()
    if (!(error instanceof DataDirectoryBusy)) throw error
    const nodes = await nodesOn(from)
    throw new BackupFault(
      `mailboxd runs${nodes}: stop it (systemctl stop 'mailboxd*.socket' mailboxd) and run the same command again`,
    )
  }
}

/** The daemons on a server, for a sentence. One on a file is that of its directory, and has no name. */
async function nodesOn(location: string): Promise<string> {
  if (!isServer(location)) return ''
  const { read, close } = await openReader(location)
  try {
    const nodes = await listOtherNodes(read, '')
    return nodes.length === 0 ? '' : ` on ${nodes.map(({ id, name }) => `${name} (${id})`).join(', ')}`
  } finally {
    await close()
  }
}

/** @throws DataDirectoryBusy if a daemon has them; a file is that of its directory, which has a lock of its own */
async function lockRows(location: string): Promise<() => Promise<void>> {
  if (!isServer(location)) return async () => {}
  const { lockServer } = await import('../store/postgres/hold.ts')
  return lockServer(location)
}
