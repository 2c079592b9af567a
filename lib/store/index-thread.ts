import { parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '../base/clock.ts'
import { limits } from '../base/limits.ts'
import { openSqliteBeside } from './dialect/sqlite.ts'
import { followIndex } from './indexing.ts'

/** The thread that puts messages into the search index, behind the writes of the main thread. */
const { db, transact, version, freeSome, close } = openSqliteBeside((workerData as { path: string }).path)
const indexing = followIndex(
  {
    read: db,
    write: transact,
    version,
    freeSome: () => freeSome(limits.freePagesAtOnce, limits.freePagesKept),
  },
  systemClock,
  trouble => parentPort!.postMessage(trouble),
)
parentPort!.once('message', async () => {
  await indexing.stop()
  close()
  parentPort!.close()
})
