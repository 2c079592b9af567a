import { Worker } from 'node:worker_threads'
import { threadEntry } from '../base/thread-entry.ts'
import { keepThread } from './dialect/kept-thread.ts'
import type { Indexing, IndexTrouble } from './indexing.ts'

/**
 * Has the search index follow what is written, in a thread of its own, until it is stopped.
 * @param location as of `openStore`
 * @param told as of `followIndex`
 */
export function startIndexThread(location: string, told: (trouble: IndexTrouble) => void): Indexing {
  // A larger one is not faster, and stays when nothing is to be done.
  const resourceLimits = { maxYoungGenerationSizeMb: 8 }
  const options = { name: 'index', workerData: { location }, resourceLimits }
  return keepThread(
    () => new Worker(threadEntry('store/index-thread'), options),
    told,
    why => told({ why }),
  )
}
