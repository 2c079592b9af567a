import { existsSync } from 'node:fs'
import { BackupFault } from '../base/backup-fault.ts'
import type { Clock } from '../base/clock.ts'
import { placeInWords, settingOfPlace, withoutPassword } from '../base/database-place.ts'
import { SchemaFault } from '../base/schema-fault.ts'
import { postgresQueryFault } from '../config/postgres-query.ts'
import { findAccount } from '../store/account.ts'
import { type Db, isServer } from '../store/dialect/dialect.ts'
import { DataDirectoryBusy, lockDataDirectory } from '../store/dialect/lock.ts'
import { listOtherNodes } from '../store/living-nodes.ts'
import { copyRows, digestRows, type TableDigest } from '../store/moving/copy.ts'
import { atOneMoment } from '../store/moving/snapshot.ts'
import {
  closeToOthers,
  findMark,
  type MovingMark,
  openToOthers,
  type TargetState,
  targetStateOf,
} from '../store/moving/target.ts'
import { openReader, openStore } from '../store/open.ts'
import { requireUtf8, toldForbidden } from '../store/postgres/state.ts'
import { type Judge, judgeByNewest } from '../store/postgres/timeline.ts'
import { daemonLockPath, timelinePath } from './nodes/node-name.ts'
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
  /** Which daemons those are, where the rows are on a server. */
  readonly running: readonly { readonly id: string; readonly name: string }[]
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
  // Every connection is judged, not that of the lock alone: of several servers each begins with the first that takes writes.
  const judge = await judgeByNewest(timelinePath(dataDir))
  const held = await lockInstallation(dataDir, from)
  const freeTarget = await lockRows(dataDir, to).catch(async error => {
    await held?.()
    if (!(error instanceof DataDirectoryBusy)) throw error
    throw new BackupFault('a mailboxd runs on the database where the rows are to go: name an empty one')
  })
  try {
    if (held && isServer(from)) await placeAll(from, judge, clock)
    return await atOneMoment(from, judge, async read => {
      const account = await findAccount(read)
      if (!account) throw new BackupFault('the installation has no account yet: start mailboxd once')
      const place = isServer(to) ? withoutPassword(to) : 'sqlite'
      // Nothing is written into what is refused, and its schema stays as it is.
      const { state, mark } = await lookAt(to, account.id).catch(asNotOurs)
      const left = await findMark(read)
      // What is left here is of before.
      if (left && !isSame(left, { place, mark })) throw movedBefore(left.place, state)
      if (state !== 'empty' && state !== 'begun') throw notEmpty(state)
      const isGoingOn = mark !== undefined && mark.place === undefined
      const begunAt = isGoingOn ? mark.begunAt : clock.now().toISOString()
      const target = await openStore(to, clock, { isTarget: true }).catch(asNotOurs)
      try {
        if (!isGoingOn) await target.write(db => closeToOthers(db, account.id, begunAt))
        const copied = await copyRows(read, target, (table, done, of) => told(`copying ${table}`, done, of))
        if (!held) return { isDone: false, running: await findRunning(from, read), ...copied, tables: [] }
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
        await closeSource({ from, judge, clock }, { accountId: account.id, place, begunAt })
        await target.write(openToOthers)
        return { isDone: true, running: [], ...copied, tables }
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
  const fault = postgresQueryFault(to.split('?')[1] ?? '')
  if (fault !== undefined) throw new BackupFault(`--to ${withoutPassword(to)} ${fault}`)
  return password === undefined ? to : withPassword(to, password)
}

/** Who has the rows meanwhile: a daemon on a file is that of its directory, and has no name. */
export async function findRunning(from: string, read: Db): Promise<MoveReport['running']> {
  if (!isServer(from)) return []
  return (await listOtherNodes(read, '')).map(({ id, name }) => ({ id, name }))
}

/** What the database where the rows are to go is by now: a file may not be there yet. */
async function lookAt(
  to: string,
  accountId: string,
): Promise<{ readonly state: TargetState; readonly mark: MovingMark | undefined }> {
  if (!isServer(to) && !existsSync(to)) return { state: 'empty', mark: undefined }
  const { read, close } = await openReader(to)
  try {
    if (isServer(to)) await requireUtf8(read)
    const state = await targetStateOf(read, accountId)
    return { state, mark: state === 'begun' ? await findMark(read) : undefined }
  } catch (error) {
    throw isServer(to) ? await toldForbidden(read, error) : error
  } finally {
    await close()
  }
}

/** @throws BackupFault where the server says that a table or column is missing, or is there already (syntax_error_or_access_rule_violation, without the right to do it) */
function asNotOurs(error: Error & { readonly code?: unknown }): never {
  if (!/^42(?!501)...$/.test(String(error.code))) throw error
  throw new BackupFault(
    `what is in the database where the rows are to go is not as mailboxd made it (${error.message}): name an empty database`,
  )
}

/**
 * Whether what is left of a move belongs to this copy, which is not opened yet: whoever opened another one, or this one and moved on
 * from it, would have two installations that send the same mail.
 */
function isSame(
  left: MovingMark,
  { place, mark }: { readonly place: string; readonly mark: MovingMark | undefined },
): boolean {
  return left.place === place && mark?.place === undefined && left.begunAt === mark?.begunAt
}

/** @param place where the rows were moved, as of `MovingMark` @param state of the database where they were to go now */
function movedBefore(place: string | undefined, state: TargetState): BackupFault {
  if (place === undefined)
    return new BackupFault(
      'not all rows are in this database, for they are being moved into it: set `database` as it was before, or take it out where that was the file in data_dir, and run it again',
    )
  const copy =
    state === 'begun'
      ? '. What --to names is a copy that is not whole or not of today, and stays closed: remove it (where it is that very database, name it as it is written here)'
      : ''
  return new BackupFault(
    `the rows were moved from here before, to ${placeInWords(place)}: ${settingOfPlace(place)}${copy}`,
  )
}

function notEmpty(state: Exclude<TargetState, 'empty' | 'begun'>): BackupFault {
  const sentences = {
    'in use': 'an installation is there already: name an empty database, or the one that this came from',
    'of another': 'the rows of another installation are being moved there: name an empty database',
    "a stranger's": 'there are tables that mailboxd did not make: name an empty database',
  }
  return new BackupFault(sentences[state])
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
    const freeRows = await lockRows(dataDir, from)
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
async function lockRows(dataDir: string, location: string): Promise<() => Promise<void>> {
  if (!isServer(location)) return async () => {}
  const { lockServer } = await import('../store/postgres/lock.ts')
  const lock = await lockServer(location, await judgeByNewest(timelinePath(dataDir)))
  return () => lock.release()
}

interface Closing {
  readonly accountId: string
  readonly place: string
  readonly begunAt: string
}

/** Nobody works on what is left here, and takes mail that nobody would see. The first copy for which it is closed is the only one. */
async function closeSource(
  { from, judge, clock }: { readonly from: string; readonly judge: Judge; readonly clock: Clock },
  { accountId, place, begunAt }: Closing,
): Promise<void> {
  const store = await openStore(from, clock, { isTarget: true, outage: { judge } })
  try {
    await store.write(async db => {
      const left = await findMark(db)
      if (left === undefined) return closeToOthers(db, accountId, begunAt, place)
      if (left.place !== place || left.begunAt !== begunAt) throw movedBefore(left.place, 'begun')
    })
  } finally {
    await store.close()
  }
}

/** Where several write at once, events get their places in the stream after their writes. */
async function placeAll(from: string, judge: Judge, clock: Clock): Promise<void> {
  const refuse = () =>
    Promise.reject(new SchemaFault('the rows are of an older mailboxd: start this one first'))
  const store = await openStore(from, clock, { beforeMigration: refuse, isTarget: true, outage: { judge } })
  try {
    await store.placed()
  } finally {
    await store.close()
  }
}
