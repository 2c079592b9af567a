import { existsSync } from 'node:fs'
import { BackupFault } from '../base/backup-fault.ts'
import type { Clock } from '../base/clock.ts'
import { placeInWords, settingOfPlace, withoutPassword } from '../base/database-place.ts'
import { SchemaFault } from '../base/schema-fault.ts'
import { findAccount } from '../store/account.ts'
import { isServer } from '../store/dialect/dialect.ts'
import { DataDirectoryBusy, lockDataDirectory } from '../store/dialect/lock.ts'
import { copyRows, digestRows, type TableDigest } from '../store/moving/copy.ts'
import { atOneMoment } from '../store/moving/snapshot.ts'
import { closeToOthers, movedPlaceOf, openToOthers, targetStateOf } from '../store/moving/target.ts'
import { openStore } from '../store/open.ts'
import { daemonLockPath } from './nodes/node-name.ts'
import { databasePath, withPassword } from './open-rows.ts'

export interface MoveParts {
  readonly dataDir: string
  /** Where the rows are, and where they are to be, as of `openStore`. */
  readonly from: string
  readonly to: string
  readonly clock: Clock
  readonly told: (step: string, done: number, of: number) => void
}

export interface MoveReport {
  /** False where a daemon runs on the rows: what changes from now on is to be copied yet, and nobody can open the copy. */
  readonly isDone: boolean
  /** Rows that were written and removed there by this call. */
  readonly put: number
  readonly removed: number
  /** What is there, compared with what was here: empty where it is not done. */
  readonly tables: readonly TableDigest[]
}

/**
 * Moves the rows of an installation to another database, which must be empty or hold what an earlier call has put there. While a
 * daemon runs it copies what is there by now; without one it makes good what changed since, compares all by count and
 * checksum, and closes what is here to daemons and opens the copy to them. The rows stay where they were, for a way back.
 * @throws BackupFault, SchemaFault, StorageUnreachable
 */
export async function moveRows({ dataDir, from, to, clock, told }: MoveParts): Promise<MoveReport> {
  if (!isServer(from) && !existsSync(from)) throw new BackupFault(`there are no rows in ${from}`)
  const held = await lockInstallation(dataDir, from)
  const freeTarget = await lockRows(to).catch(async error => {
    await held?.()
    if (!(error instanceof DataDirectoryBusy)) throw error
    throw new BackupFault('a mailboxd runs on the database where the rows are to go: name an empty one')
  })
  try {
    if (held && isServer(from)) await placeAll(from, clock)
    return await atOneMoment(from, async read => {
      const account = await findAccount(read)
      if (!account) throw new BackupFault('the installation has no account yet: start mailboxd once')
      const target = await openStore(to, clock, { isTarget: true })
      try {
        const state = await targetStateOf(target.read, account.id)
        // What is left here is of before.
        const isLeft = (await targetStateOf(read, account.id)) === 'begun'
        if (isLeft && (state === 'in use' || state === 'empty')) throw movedBefore(await movedPlaceOf(read))
        if (state === 'in use' || state === 'of another') throw notEmpty(state)
        if (state === 'empty') {
          await target.write(db => closeToOthers(db, account.id, clock.now().toISOString()))
        }
        const copied = await copyRows(read, target, (table, done, of) => told(`copying ${table}`, done, of))
        if (!held) return { isDone: false, ...copied, tables: [] }
        const wanted = await digestRows(read, (table, done, of) => told(`reading ${table}`, done, of))
        const tables = await digestRows(target.read, (table, done, of) =>
          told(`comparing ${table}`, done, of),
        )
        const other = tables.find(({ sha256 }, at) => sha256 !== wanted[at]!.sha256)
        if (other)
          throw new BackupFault(
            `the rows of ${other.table} are not the same there (${other.rows}) as here: run it again`,
          )
        // First here, so that there is no moment at which two daemons could start.
        await closeSource({ from, to, accountId: account.id, clock })
        await target.write(openToOthers)
        return { isDone: true, ...copied, tables }
      } finally {
        await target.close()
      }
    })
  } finally {
    await freeTarget()
    await held?.()
  }
}

/**
 * Where rows are to be moved, as of `openStore`.
 * @param to the URL of a PostgreSQL server, or `sqlite` for the file of the data directory
 * @throws BackupFault for what is neither
 */
export function targetOf(dataDir: string, to: string, password: string | undefined): string {
  if (to === 'sqlite') return databasePath(dataDir)
  if (!isServer(to)) throw new BackupFault(`--to ${to}: give postgres://user@host/database, or sqlite`)
  return password === undefined ? to : withPassword(to, password)
}

/** @param place as of `movedPlaceOf` */
function movedBefore(place: string | undefined): BackupFault {
  return new BackupFault(
    place === undefined
      ? 'the rows were moved from here before: set `database` to where they are now, or take it out where that is the file in data_dir'
      : `the rows were moved from here before, to ${placeInWords(place)}: ${settingOfPlace(place)}`,
  )
}

function notEmpty(state: 'in use' | 'of another'): BackupFault {
  return new BackupFault(
    state === 'in use'
      ? 'an installation is there already: name an empty database, or the one that this came from'
      : 'the rows of another installation are being moved there: name an empty database',
  )
}

/**
 * Keeps daemons from an installation.
 * @param from where its rows are, as of `openStore`
 * @returns what lets them again; undefined where one runs
 */
export async function lockInstallation(
  dataDir: string,
  from: string,
): Promise<(() => Promise<void>) | undefined> {
  let freeDirectory: () => void
  try {
    freeDirectory = lockDataDirectory(daemonLockPath(dataDir))
  } catch (error) {
    if (error instanceof DataDirectoryBusy) return undefined
    throw error
  }
  try {
    const freeRows = await lockRows(from)
    return async () => {
      await freeRows()
      freeDirectory()
    }
  } catch (error) {
    freeDirectory()
    if (error instanceof DataDirectoryBusy) return undefined
    throw error
  }
}

/** @throws DataDirectoryBusy where a daemon has them; a file is its directory's, which has a lock of its own */
async function lockRows(location: string): Promise<() => Promise<void>> {
  if (!isServer(location)) return async () => {}
  const { lockServer } = await import('../store/postgres/lock.ts')
  const lock = await lockServer(location)
  return () => lock.release()
}

/** Nobody works on what is left here, and takes mail that nobody would see. */
async function closeSource({
  from,
  to,
  accountId,
  clock,
}: Pick<MoveParts, 'from' | 'to' | 'clock'> & { readonly accountId: string }): Promise<void> {
  const place = isServer(to) ? withoutPassword(to) : 'sqlite'
  const store = await openStore(from, clock, { isTarget: true })
  try {
    if ((await targetStateOf(store.read, accountId)) === 'begun') return
    await store.write(db => closeToOthers(db, accountId, clock.now().toISOString(), place))
  } finally {
    await store.close()
  }
}

/** Where several write at once, events get their places in the stream after their writes. */
async function placeAll(from: string, clock: Clock): Promise<void> {
  const refuse = () =>
    Promise.reject(new SchemaFault('the rows are of an older mailboxd: start this one first'))
  const store = await openStore(from, clock, { beforeMigration: refuse, isTarget: true })
  try {
    await store.placed()
  } finally {
    await store.close()
  }
}
