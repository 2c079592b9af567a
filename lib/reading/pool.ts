import { Worker } from 'node:worker_threads'
import { FairSlots } from '../base/fair-slots.ts'
import type { Log } from '../base/log.ts'
import { type Meter, noMeter } from '../base/metrics.ts'
import { blockOf } from '../base/network.ts'
import { Reply } from '../base/reply.ts'
import { createThreadWatch, places, threadEntry } from '../base/threads.ts'
import type { Clock } from '../base/time.ts'
import { crossing, readStart, sizeOf } from '../blob/content.ts'
import { headerBytes } from '../mail/header/header.ts'
import type { Answer, Job, ThreadData } from './job.ts'
import type { Reading, ReadingRequest } from './reading.ts'

/** Reads messages where what is in them can do no harm. */
export interface MailReader {
  /**
   * Never fails for what a message holds: of one that can't be read there is what its header says.
   * @param party whose message it is: who brings much waits for himself, and not the others for him
   * @throws Reply 451 4.3.2 when too much is being read for too long; what reading the file of its bytes throws
   */
  read(request: ReadingRequest, party: string): Promise<Reading>
  /** How many messages are being read, or wait for that. */
  count(): number
  /** Ends the threads; what they are reading comes to nothing. */
  stop(): Promise<void>
}

export interface ReaderOptions extends ThreadBounds, Omit<ThreadData, 'places'> {
  /** How many threads there are at the most; they start when they are needed. */
  readonly threads: number
  /** Bytes that those for small messages have at once, and those for large ones. */
  readonly smallBytes: number
  readonly largeBytes: number
  /** How long a message waits until it may be read, each time. */
  readonly waitMs: number
  /** After this without work threads end, for what they grew to. */
  readonly idleMs: number
  readonly clock: Clock
  readonly log: Log
  /** Nothing is counted without one. */
  readonly meter?: Meter
}

/**
 * Threads that read messages. Those of large messages are apart from those of small ones, so that nobody's letter waits for
 * somebody's 20 MB. A message that ends its thread, or is late, is read once more where it can harm no other; then its
 * header is read alone, there; and if that fails, too, its header is read here, and its author is not proven.
 */
export function createMailReader(options: ReaderOptions): MailReader {
  const { clock, log, meter = noMeter } = options
  let lastNumber = 0
  let count = 0
  let isStopped = false

  const { hostname, dns, trustedSealers, smallBytes, largeBytes, waitMs, idleMs } = options
  const data = { hostname, dns, trustedSealers }
  const start = (ended: () => void) =>
    startThread(data, options, clock, ({ why, messages }) => {
      ended()
      meter.count('reading_deaths_total')
      log.warn({ why, messages }, 'a reading thread ended')
    })
  const largeThreads = Math.floor(options.threads / 2)
  const laneOf = (threads: number, bytes: number) => createLane({ threads, bytes, waitMs, idleMs }, start)
  const small = laneOf(options.threads - largeThreads, smallBytes)
  const large = largeThreads === 0 ? small : laneOf(largeThreads, largeBytes)

  /** Reads it until there is a reading. Which message ended a thread is known when it was being read; else each of them is read again alone. */
  async function readInThreads(request: ReadingRequest, party: string): Promise<Reading> {
    let isAlone = false
    let wasDisturbed = false
    let headerAlone: string | undefined
    for (;;) {
      const number = ++lastNumber
      const lane = isAlone || request.content.kind === 'file' ? large : small
      const end = await lane.read({ number, request, headerAlone }, party, isAlone)
      if (isStopped) throw new Error('the server is stopping')
      if (!end) {
        meter.count('reading_jobs_total', 'refused')
        throw new Reply(451, '4.3.2', 'Too much mail is being read just now; try again soon')
      }
      if ('reading' in end) return end.reading
      if ('error' in end) throw end.error
      if (end.culprit !== undefined && end.culprit !== number) {
        // Whoever was in bad company twice is kept apart from then on.
        isAlone = wasDisturbed
        wasDisturbed = true
        continue
      }
      if (headerAlone !== undefined) return readHere(request, headerAlone)
      if (end.messages === 1) headerAlone = end.why
      isAlone = true
    }
  }

  return {
    async read(request, party) {
      const began = clock.monotonicMs()
      count++
      try {
        const reading = await readInThreads(request, party)
        meter.count('reading_jobs_total', 'read')
        meter.observe('reading_wait_seconds', (clock.monotonicMs() - began) / 1000)
        return reading
      } finally {
        count--
      }
    },
    count: () => count,
    async stop() {
      isStopped = true
      await Promise.all([small.stop(), large.stop()])
    },
  }
}

/** The header alone, in this thread, which is little work whatever stands in it. */
async function readHere(request: ReadingRequest, problem: string): Promise<Reading> {
  // What reads is loaded in its threads, and hardly ever here.
  const { readHeaderAlone } = await import('./read-mail.ts')
  const start = await readStart(request.content, headerBytes)
  return { ...(await readHeaderAlone(start, request, problem)), authentication: null }
}

/** Some threads, and what they may have at once: so many bytes, and of one block of addresses half as many. */
interface Lane {
  /**
   * Reads a message in its turn.
   * @param isAlone whether no other may be read meanwhile
   * @returns undefined if it waited for too long, or the lane was stopped
   */
  read(job: Job, party: string, isAlone: boolean): Promise<Answer | Death | undefined>
  stop(): Promise<void>
}

interface LaneOptions {
  /** How many threads there are at the most. */
  readonly threads: number
  /** What they have at once; a message that is larger is read when there is no other. */
  readonly bytes: number
  readonly waitMs: number
  /** After this without work, the threads end. */
  readonly idleMs: number
}

/** @param startThread given what to call when the thread has ended */
function createLane(
  { threads: most, bytes, waitMs, idleMs }: LaneOptions,
  startThread: (ended: () => void) => ReadingThread,
): Lane {
  const slots = new FairSlots({ size: bytes, share: () => bytes / 2, waitMs })
  const threads = new Set<ReadingThread>()
  let count = 0
  let resting: NodeJS.Timeout | undefined

  /** The thread with the least to do, or a new one. */
  function findThread(): ReadingThread {
    const [least] = [...threads].sort((one, other) => one.size - other.size)
    if (least && (least.size === 0 || threads.size >= most)) return least
    const thread = startThread(() => threads.delete(thread))
    threads.add(thread)
    return thread
  }

  async function end(): Promise<void> {
    const ended = [...threads]
    threads.clear()
    await Promise.all(ended.map(thread => thread.stop()))
  }

  return {
    async read(job, party, isAlone) {
      const { request } = job
      const amount = isAlone ? bytes : sizeOf(request.content)
      const leave = await slots.enter(blockOf(party), { amount })
      if (!leave || slots.isStopped) return undefined
      count++
      clearTimeout(resting)
      try {
        return await findThread().read({
          ...job,
          request: { ...request, content: crossing(request.content) },
        })
      } finally {
        count--
        leave()
        if (count === 0) resting = setTimeout(end, idleMs).unref()
      }
    },
    async stop() {
      slots.stop()
      await end()
    },
  }
}

/** What bounds one thread. */
interface ThreadBounds {
  /** What reading one message may take. */
  readonly timeoutMs: number
  readonly heapBytes: number
}

/** How a thread came to its end, before it had answered. */
interface Death {
  /** In words, for `parseProblems` and the log. */
  readonly why: string
  /** How many jobs it had. */
  readonly messages: number
  /** The one of them that it was reading; undefined when it was at none: any of them may have ended it. */
  readonly culprit: number | undefined
}

/** A worker thread that reads messages, seen from outside. */
interface ReadingThread {
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
function startThread(
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
