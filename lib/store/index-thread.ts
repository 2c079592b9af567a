import { parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '../base/clock.ts'
import { limits } from '../base/limits.ts'
import { openSqliteBeside } from './dialect/sqlite.ts'
import { followIndex } from './indexing.ts'

/** What the thread is started with. */
export interface IndexThreadData {
  readonly path: string
  /** The first of this process, which tries again what was left out before. */
  readonly isFirst: boolean
}

/** The thread that puts messages into the search index, behind the writes of the main thread. */
const { path, isFirst } = workerData as IndexThreadData
const { db, transact, version, freeSome, close } = openSqliteBeside(path)
const indexing = followIndex(
  {
    read: db,
    write: transact,
    version,
    freeSome: () => freeSome(limits.freePagesAtOnce, limits.freePagesKept),
  },
  systemClock,
  trouble => parentPort!.postMessage(trouble),
  isFirst,
)
parentPort!.once('message', async () => {
  await indexing.stop()
  close()
  parentPort!.close()
})
