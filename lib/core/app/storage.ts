import { statfs } from 'node:fs/promises'
import { DatabaseDamaged } from '../../base/faults.ts'
import type { Log } from '../../base/log.ts'
import { Problem } from '../../base/problem.ts'
import { Reply } from '../../base/reply.ts'

/**
 * How the disk and the database on it are, for who takes something in and for /health. Whether anything is taken in stands in shared
 * memory, for the threads of sessions.
 */
export interface Storage {
  /** Where it stands. */
  readonly shared: SharedArrayBuffer
  /** Why the server can not do its work, in a sentence for clients; undefined while it can. */
  fault: string | undefined
  /** What its operator should look at, in sentences. */
  warnings: readonly string[]
  /** Bytes in use of the write-ahead log, as they were seen last. */
  logBytes: number
}

const roomAt = 0
const refusedAt = 1
const damagedAt = 2

export function createStorage(): Storage {
  const shared = new SharedArrayBuffer(3 * Int32Array.BYTES_PER_ELEMENT)
  setRoom(shared, true)
  return { shared, fault: undefined, warnings: [], logBytes: 0 }
}

/** Notes for all threads that the database is damaged. The first that finds it logs it. */
export function noteDamage(shared: SharedArrayBuffer, damage: DatabaseDamaged, log: Log): void {
  if (Atomics.exchange(new Int32Array(shared), damagedAt, 1) === 1) return
  log.fatal(
    { err: damage },
    'The database is damaged: mailboxd stores and sends nothing until it is restarted with a good one. Stop it, keep a copy of the file, and restore the last backup (mailboxctl restore)',
  )
}

const isDamaged = (shared: SharedArrayBuffer) => Atomics.load(new Int32Array(shared), damagedAt) === 1

/** @throws DatabaseDamaged when any thread has found that */
export function requireWhole(shared: SharedArrayBuffer): void {
  if (isDamaged(shared)) throw new DatabaseDamaged('the database is damaged', 'SQLITE_CORRUPT')
}

/** Opens or closes the doors for all that takes room. */
export function setRoom(shared: SharedArrayBuffer, hasRoom: boolean): void {
  Atomics.store(new Int32Array(shared), roomAt, hasRoom ? 1 : 0)
}

/** Counts who finds none. */
function hasRoom(shared: SharedArrayBuffer): boolean {
  const state = new Int32Array(shared)
  if (Atomics.load(state, roomAt) === 1) return true
  Atomics.add(state, refusedAt, 1)
  return false
}

/** How many were refused for want of room since this was asked last. */
export function takeRefused(shared: SharedArrayBuffer): number {
  return Atomics.exchange(new Int32Array(shared), refusedAt, 0)
}

/** @param reason for the log alone */
export const noRoomForMail = (reason?: string) =>
  new Reply(452, '4.3.1', 'This server is out of room; try again later', reason)

/** For clients, in every door and in /health. */
export const nearlyFull =
  'The disk of this server is nearly full, so nothing new is stored. What is there can be read, and deleted while there is any room.'

export const diskHeld =
  'The disk of this server does not keep what is written: nothing is promised, and no rows are shown, until it does.'

export const noRoomForRequests = () => new Problem('unavailable', nearlyFull)

/** @throws Reply 452 4.3.1 when the disk is nearly full (RFC 5321 §4.2.2, RFC 3463 §3.4); DatabaseDamaged */
export function requireRoomForMail(shared: SharedArrayBuffer): void {
  requireWhole(shared)
  if (!hasRoom(shared)) throw noRoomForMail()
}

/** @throws Problem `unavailable` when the disk is nearly full */
export function requireRoom(shared: SharedArrayBuffer): void {
  if (!hasRoom(shared)) throw noRoomForRequests()
}

/** Bytes that are free on the disk of a directory, for who is not root. */
export async function freeBytesOf(dataDir: string): Promise<number> {
  const { bavail, bsize } = await statfs(dataDir)
  return bavail * bsize
}

const megabytes = (bytes: number) => `${Math.ceil(bytes / 1e6)} MB`

/**
 * As `requireRoom`, for a command that has nobody who watches the disk for it: it looks itself.
 * @throws Problem `unavailable` with what the operator does about it
 */
export async function requireRoomNow({
  data_dir: dataDir,
  min_free: least,
}: {
  readonly data_dir: string
  readonly min_free: number
}): Promise<void> {
  const free = await freeBytesOf(dataDir)
  if (free >= least) return
  const left = `${megabytes(free)} are free in ${dataDir}, and min_free asks for ${megabytes(least)}`
  throw new Problem(
    'unavailable',
    `${nearlyFull} ${left}: make room there (df -h ${dataDir}), or change min_free.`,
  )
}
