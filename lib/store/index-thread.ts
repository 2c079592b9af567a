import { parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '../base/clock.ts'
import type { HeldServer } from '../base/held-server.ts'
import { limits } from '../base/limits.ts'
import { isServer } from './dialect/dialect.ts'
import { openSqliteBeside } from './dialect/sqlite.ts'
import { type Followed, followIndex } from './indexing.ts'
import { writeLeft } from './last-statements.ts'
import { followHold } from './postgres/followed-hold.ts'

/** What the thread is started with. */
export interface IndexThreadData {
  /** As of `openStore`. */
  readonly location: string
  /** What the main thread holds on the server of the database; undefined where it is a file, or nothing is held. */
  readonly held?: HeldServer | undefined
  /** Not 0 while who writes waits for the lock on the file. */
  readonly wanted?: Int32Array
  /** The first of this process, which tries again what was left out before. */
  readonly isFirst: boolean
}

/** What it is told: to end, or that what the main thread holds on the server is another from now on. */
export type ToIndexThread = 'stop' | { readonly held: HeldServer }

/** The thread that puts messages into the search index, behind the writes of the main thread. */
const { location, held, wanted, isFirst } = workerData as IndexThreadData
const hold = held && followHold(held)
const { followed, close } = isServer(location) ? await onServer() : onFile()
const indexing = followIndex(followed, systemClock, trouble => parentPort!.postMessage(trouble), isFirst)
parentPort!.on('message', async (message: ToIndexThread) => {
  if (message !== 'stop') return hold?.tell(message.held)
  await indexing.stop()
  await close()
  parentPort!.close()
})

function onFile(): { followed: Followed; close(): unknown } {
  const { db, transact, version, freeSome, close } = openSqliteBeside(location)
  const free = () => freeSome(limits.freePagesAtOnce, limits.freePagesKept)
  const isWanted = () => wanted !== undefined && Atomics.load(wanted, 0) !== 0
  return { followed: { read: db, write: transact, isWanted, version, freeSome: free }, close }
}

async function onServer(): Promise<{ followed: Followed; close(): unknown }> {
  const { openPostgres } = await import('./postgres/pool.ts')
  const { db, writeInTurn, close } = openPostgres(location, limits.postgresReaders, hold ? { hold } : {})
  return {
    followed: { read: db, write: work => writeInTurn(work, writeLeft), version: () => undefined },
    close,
  }
}
