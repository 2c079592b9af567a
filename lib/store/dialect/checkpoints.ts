import { Worker } from 'node:worker_threads'
import { threadEntry } from '../../base/threads.ts'
import type { CheckpointBounds, LogState } from './checkpointer.ts'
import { type KeptThread, keepThread } from './kept-thread.ts'

/** What the thread is started with. */
export interface CheckpointThreadData {
  readonly path: string
  readonly bounds: CheckpointBounds
  /** How often it looks. */
  readonly lookMs: number
}

/** What the thread that takes care of the log is told by this one. */
export interface CheckpointOptions extends CheckpointThreadData {
  /** Another value than before when anything was committed. */
  readonly version: () => unknown
  /** For how long nothing is committed before it is ended. */
  readonly idleMs: number
}

/**
 * Starts the thread that moves the write-ahead log into the file of the database, which takes fsyncs and, after much was
 * written, seconds.
 * @param told called with how the log stands whenever something was done; also when the thread died, and is to be replaced
 */
export function startCheckpoints(
  { version, idleMs, ...workerData }: CheckpointOptions,
  told: (state: LogState) => void,
): KeptThread {
  // It has little to remember.
  const resourceLimits = { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 2 }
  const options = { name: 'checkpoints', workerData, resourceLimits }
  return keepThread<LogState>({
    begin: () => new Worker(threadEntry('store/dialect/checkpoint-thread'), options),
    told,
    died: why => told({ usedBytes: 0, fault: `the thread that writes it died: ${why}`, lost: null }),
    version,
    // What readers still hold of a long log is to be moved once they have done with it.
    isHindered: ({ fault, usedBytes }) => fault !== null || usedBytes > workerData.bounds.logBytes,
    idleMs,
  })
}
