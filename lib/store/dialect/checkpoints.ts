import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { threadEntry } from '../../base/thread-entry.ts'
import type { CheckpointBounds, LogState } from './checkpointer.ts'

/** Stops and waits for its end. */
export interface Checkpoints {
  stop(): Promise<void>
}

/** What the thread is started with. */
export interface CheckpointThreadData {
  readonly path: string
  readonly bounds: CheckpointBounds
  /** How often it looks. */
  readonly lookMs: number
}

/** When a thread that died is started again. */
const restartMs = 10_000

/**
 * Starts the thread that moves the write-ahead log into the file of the database, which takes fsyncs and, after much was
 * written, seconds.
 * @param told called with how the log stands whenever something was done; also when the thread died, and is to be replaced
 */
export function startCheckpoints(data: CheckpointThreadData, told: (state: LogState) => void): Checkpoints {
  let worker: Worker
  let timer: NodeJS.Timeout | undefined
  let isStopped = false

  function start(): void {
    let why = 'it ended'
    // It has little to remember.
    const resourceLimits = { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 2 }
    worker = new Worker(threadEntry('store/dialect/checkpoint-thread'), {
      name: 'checkpoints',
      workerData: data,
      resourceLimits,
    })
    worker.unref()
    worker.on('message', told)
    worker.on('error', error => {
      why = String(error)
    })
    worker.on('exit', () => {
      if (isStopped) return
      told({ usedBytes: 0, fault: `the thread that writes it died: ${why}`, lost: null })
      timer = setTimeout(start, restartMs).unref()
    })
  }

  start()
  return {
    async stop() {
      isStopped = true
      clearTimeout(timer)
      if (worker.threadId === -1) return
      worker.ref()
      worker.postMessage('stop')
      await once(worker, 'exit')
    },
  }
}
