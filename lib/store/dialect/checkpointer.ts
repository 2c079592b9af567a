import { closeSync, fdatasyncSync, fstatSync, openSync, statSync, writeSync } from 'node:fs'
import Database from 'better-sqlite3'
import { DatabaseDamaged } from '../../base/faults.ts'

/** How the write-ahead log stands after a look at it. */
export interface LogState {
  /** Bytes of it that are in use; what is in the file already is written over only when all of it is. */
  readonly usedBytes: number
  /** Why the file of the database could not be written; null when it could be. */
  readonly fault: string | null
  /** The code of a DatabaseDamaged, where that is why. */
  readonly damage?: string
  /** Why the log itself is not on the disk, which is the end; null when it is. */
  readonly lost: string | null
}

export interface CheckpointBounds {
  /** What the log may come to before writers are kept waiting for a moment, so that it begins anew. */
  readonly logBytes: number
  /** Looks in a row that find nothing new, after which its file is emptied. */
  readonly idleLooks: number
}

/** Moves what is in the write-ahead log into the file of the database. All that it does is synchronous: it belongs in a thread. */
export interface Checkpointer {
  /** Moves what there is. Gives how the log stands, or undefined when nothing has happened since. */
  look(): LogState | undefined
  close(): void
}

/** How long writers are kept waiting at the most, for readers to have done with the log. */
const restartMs = 100
/** Looks that are left out after writers were kept waiting for nothing. */
const restartRests = 4
/** Pages of the log that readers may lack and it is worth while to keep writers waiting. */
const fewPages = 500
/** In the log each page has this before it (SQLite, "WAL-mode File Format", section 2.2). */
const frameHeaderBytes = 24
/** The part of `logBytes` that the file of an emptied log keeps, so that messages can be deleted when the disk is full. */
const keptShare = 1 / 16

/** The log itself is not on the disk. */
class LostLog extends Error {}

/** Opens a connection of its own on a database that is there, in WAL mode. */
export function openCheckpointer(path: string, bounds: CheckpointBounds): Checkpointer {
  const connection = new Database(path, { timeout: restartMs })
  connection.pragma('synchronous = normal')
  // The file is cut down to this by whoever writes the first page of a log that begins anew.
  connection.pragma(`journal_size_limit = ${bounds.logBytes}`)
  const frameBytes = Number(connection.pragma('page_size', { simple: true })) + frameHeaderBytes
  const log = openSync(`${path}-wal`, 'r+')
  /** The end of all of it: once the log was not kept, what is in memory may not be taken for what is on the disk. */
  let lost: LogState | undefined
  let version: unknown
  /** Whether all that is in the log was found in the file, too. */
  let isDone = false
  /** Whether nothing was written since it was emptied. */
  let isEmpty = false
  let idle = 0
  let rests = 0

  function checkpoint(mode: 'passive' | 'restart' | 'truncate') {
    const rows = connection.pragma(`wal_checkpoint(${mode})`)
    return (rows as { busy: number; log: number; checkpointed: number }[])[0]!
  }

  /** Before anything of the log is taken for good: SQLite's own fsync does not say which of the two files failed. */
  function keep(): void {
    try {
      fdatasyncSync(log)
    } catch (error) {
      throw new LostLog(String(error))
    }
  }

  /**
   * Whoever writes the first page of a log that begins anew waits for the fsync of its head (`walWriteFrames` of SQLite), and
   * with the writer the event loop would wait, as long as the disk takes. So this thread writes that page; nobody reads the value.
   */
  function begin(): void {
    try {
      connection.pragma('user_version = 0')
    } catch (error) {
      // Whoever was faster has written the page, and a disk that is full is told of by those who have something to write.
      if (error instanceof Database.SqliteError && error.code === 'SQLITE_IOERR_FSYNC')
        throw new LostLog(error.message)
    }
  }

  /** Without keeping anybody waiting; then, where the log has grown long, with that, for the few pages that are left. */
  function move(): LogState {
    const moved = checkpoint('passive')
    isDone = moved.checkpointed === moved.log
    if (isDone) begin()
    const isLong = moved.log * frameBytes > bounds.logBytes
    const isNear = moved.log - moved.checkpointed < fewPages
    if (isLong && isNear && --rests < 0) {
      const { busy } = checkpoint('restart')
      if (busy === 0) {
        begin()
        return stateOf(0)
      }
      rests = restartRests
    }
    return stateOf(moved.log)
  }

  const stateOf = (frames: number): LogState => ({ usedBytes: frames * frameBytes, fault: null, lost: null })

  function empty(): LogState | undefined {
    if (isEmpty || ++idle < bounds.idleLooks) return undefined
    idle = 0
    const { busy, log: frames } = checkpoint('truncate')
    if (busy !== 0) return stateOf(frames)
    begin()
    reserve()
    isEmpty = true
    return stateOf(0)
  }

  /**
   * Lengthens the file with zeros, which SQLite passes over: it ends a log at the first frame whose checksum is wrong. Nobody writes to
   * the log in this transaction. If the disk is full or another writes, there is no reserve.
   */
  function reserve(): void {
    const bytes = Math.floor(bounds.logBytes * keptShare)
    try {
      connection.exec('begin immediate')
      const { size } = fstatSync(log)
      if (size < bytes) writeSync(log, Buffer.alloc(bytes - size), 0, bytes - size, size)
    } catch {
    } finally {
      if (connection.inTransaction) connection.exec('rollback')
    }
  }

  return {
    look() {
      if (lost) return lost
      try {
        const now = connection.pragma('data_version', { simple: true })
        if (now === version && isDone) return empty()
        version = now
        idle = 0
        isEmpty = false
        keep()
        return move()
      } catch (error) {
        isDone = false
        const why = error instanceof LostLog ? error.message : String(error)
        const damage = DatabaseDamaged.of(error)?.code
        const state = {
          usedBytes: statSync(`${path}-wal`).size,
          fault: why,
          lost: null,
          ...(damage !== undefined && { damage }),
        }
        if (!(error instanceof LostLog)) return state
        lost = { ...state, lost: why }
        return lost
      }
    },
    close() {
      closeSync(log)
      connection.close()
    },
  }
}
