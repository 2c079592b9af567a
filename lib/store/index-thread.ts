import { parentPort, workerData } from 'node:worker_threads'
import { postgresReaders } from '../base/threads.ts'
import { systemClock } from '../base/time.ts'
import { isServer } from './dialect/dialect.ts'
import { openSqliteBeside } from './dialect/sqlite.ts'
import { type Followed, followIndex } from './indexing.ts'
import { writeLeft } from './last-statements.ts'

/** Pages of the database that are free and stay so, for what comes next; and those that are given back to the disk at once. */
const freePagesKept = 250
const freePagesAtOnce = 250

/** What the thread is started with. */
export interface IndexThreadData {
  /** As of `openStore`. */
  readonly location: string
  /** Not 0 while who writes waits for the lock on the file. */
  readonly wanted?: Int32Array
  /** The first of this process, which tries again what was left out before. */
  readonly isFirst: boolean
}

/** The number of the lock of the process that writes into the index of a server. */
const indexLock = 0x7475726e

/** The thread that puts messages into the search index, behind the writes of the main thread. */
const { location, wanted, isFirst } = workerData as IndexThreadData
const { followed, close } = isServer(location) ? await onServer() : onFile()
const indexing = followIndex(followed, systemClock, trouble => parentPort!.postMessage(trouble), isFirst)
// What it is told is to end.
parentPort!.once('message', async () => {
  await indexing.stop()
  await close()
  parentPort!.close()
})

function onFile(): { followed: Followed; close(): unknown } {
  const { db, transact, version, freeSome, close } = openSqliteBeside(location)
  const free = () => freeSome(freePagesAtOnce, freePagesKept)
  const isWanted = () => wanted !== undefined && Atomics.load(wanted, 0) !== 0
  return { followed: { read: db, write: transact, isWanted, version, freeSome: free }, close }
}

async function onServer(): Promise<{ followed: Followed; close(): unknown }> {
  const { openPostgres } = await import('./postgres/pool.ts')
  const { db, writeAlone, close } = openPostgres(location, postgresReaders)
  const written = { writeLeft, committed() {} }
  return {
    followed: {
      read: db,
      write: work => writeAlone(indexLock, work, written),
      version: () => undefined,
    },
    close,
  }
}
