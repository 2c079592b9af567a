import { parentPort, workerData } from 'node:worker_threads'
import { openCheckpointer } from './checkpointer.ts'
import type { CheckpointThreadData } from './checkpoints.ts'

/** The thread in which the write-ahead log is moved into the file: it looks now and then, and tells how the log stands. */
const { path, bounds, lookMs } = workerData as CheckpointThreadData
const checkpointer = openCheckpointer(path, bounds)
const timer = setInterval(() => {
  const state = checkpointer.look()
  if (state) parentPort!.postMessage(state)
}, lookMs)
parentPort!.once('message', () => {
  clearInterval(timer)
  checkpointer.close()
  parentPort!.close()
})
