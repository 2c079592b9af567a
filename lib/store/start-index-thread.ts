import { Worker } from 'node:worker_threads'
import { threadEntry } from '../base/threads.ts'
import { keepThread } from './dialect/kept-thread.ts'
import type { IndexThreadData } from './index-thread.ts'
import type { Indexing, IndexTrouble } from './indexing.ts'

/** For how long nothing is committed before the threads that follow what is are ended: 10 MB each. */
export const storeThreadIdleMs = 30_000

/**
 * Has the search index follow what is written, in a thread of its own, until it is stopped.
 * @param version as of `Store`: as long as it stays the same the thread may rest
 * @param told as of `followIndex`
 */
export function startIndexThread(
  where: Omit<IndexThreadData, 'isFirst'>,
  version: () => number | undefined,
  told: (trouble: IndexTrouble) => void,
): Indexing {
  // A larger one is not faster, and stays when nothing is to be done.
  const resourceLimits = { maxYoungGenerationSizeMb: 8 }
  return keepThread<IndexTrouble>({
    begin(isFirst) {
      const workerData: IndexThreadData = { ...where, isFirst }
      const options = { name: 'index', workerData, resourceLimits }
      return new Worker(threadEntry('store/index-thread'), options)
    },
    told,
    died: why => told({ why }),
    // Where nobody says that something was committed, it may have been: no two symbols are the same.
    version: () => version() ?? Symbol('unknown'),
    isHindered: (trouble, was) => ('messageId' in trouble ? was : trouble.why !== null),
    idleMs: storeThreadIdleMs,
  })
}
