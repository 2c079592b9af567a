import { Worker } from 'node:worker_threads'
import { createThreadWatch, places, threadEntry } from '../base/threads.ts'
import type { Clock } from '../base/time.ts'

import type { Answer, Job, ThreadData } from './job.ts'

/** What bounds one thread. */
export interface ThreadBounds {
  /** What reading one message may take. */
  readonly timeoutMs: number
  readonly heapBytes: number
}

/** How a thread came to its end, before it had answered. */
export interface Death {
  /** In words, for `parseProblems` and the log. */
  readonly why: string
  /** How many jobs it had. */
  readonly messages: number
  /** The one of them that it was reading; undefined when it was at none: any of them may have ended it. */
  readonly culprit: number | undefined
}

/** A worker thread that reads messages, seen from outside. */
export interface ReadingThread {
  /** How many jobs it has. */
  readonly size: number
  read(job: Job): Promise<Answer | Death>
  /** Ends it, and with it what it reads. */
  stop(): Promise<void>
}

const mebibyte = 1024 * 1024

/**
 * Starts a thread. It keeps the process alive only while it has work.
 * @param ended called once when the thread has died by itself, or was ended because it was late
 */
export function startThread(
  data: Omit<ThreadData, 'places'>,
  bounds: ThreadBounds,
  clock: Clock,
  ended: (death: Death) => void,
): ReadingThread {
  const shared = new SharedArrayBuffer(places.count * Int32Array.BYTES_PER_ELEMENT)
  const place = new Int32Array(shared)
  const jobs = new Map<number, (end: Answer | Death) => void>()
  const workerData: ThreadData = { ...data, places: shared }
  const worker = new Worker(threadEntry('reading/worker'), {
    name: 'reading',
    workerData,
    resourceLimits: { maxOldGenerationSizeMb: Math.ceil(bounds.heapBytes / mebibyte) },
  })
  worker.unref()
  let outgoing: Job[] = []
  let why: string | undefined
  let isStopped = false
  let isReady = false
  const watch = createThreadWatch(place, bounds.timeoutMs, clock, () => {
    why ??= `it took longer than ${bounds.timeoutMs} ms`
    worker.terminate()
  })

  worker.on('message', (answers: readonly Answer[]) => {
    isReady = true
    for (const answer of answers) {
      jobs.get(answer.number)!(answer)
      jobs.delete(answer.number)
    }
    if (jobs.size > 0) return watch.start()
    watch.stop()
    worker.unref()
  })
  worker.on('error', (error: Error & { code?: string }) => {
    const isMemory = error.code === 'ERR_WORKER_OUT_OF_MEMORY'
    why ??= isMemory ? 'it needed more memory than reading may take' : `it broke its reader: ${error.message}`
  })
  worker.on('exit', () => {
    watch.stop()
    const current = Atomics.load(place, places.current)
    const death = {
      why: why ?? 'it ended its reader',
      messages: jobs.size,
      culprit: jobs.has(current) ? current : undefined,
    }
    if (!isStopped) ended(death)
    for (const settle of jobs.values()) settle(death)
  })

  return {
    get size() {
      return jobs.size
    },
    read(job) {
      const { promise, resolve } = Promise.withResolvers<Answer | Death>()
      jobs.set(job.number, resolve)
      worker.ref()
      // Before it is ready it loads its libraries, which is no message's fault.
      if (isReady) watch.start()
      // What is put in one turn of the event loop goes over together.
      if (outgoing.length === 0) {
        setImmediate(() => {
          worker.postMessage(outgoing)
          outgoing = []
        })
      }
      outgoing.push(job)
      return promise
    },
    async stop() {
      isStopped = true
      await worker.terminate()
    },
  }
}
