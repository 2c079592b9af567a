import type { Clock } from '../base/clock.ts'
import { limits } from '../base/limits.ts'
import type { Log } from '../base/log.ts'
import { type Meter, noMeter } from '../base/meter.ts'
import { Reply } from '../base/reply.ts'
import { readStart, sizeOf } from '../blob/content.ts'
import type { Answer, ThreadData } from './job.ts'
import { createLane, type Lane, type Task } from './lane.ts'
import type { Reading, ReadingRequest } from './reading.ts'
import { type Death, startThread, type ThreadBounds } from './thread.ts'

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
  /** How long a message waits until it may be read. */
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
  const tasks = new Map<number, Task>()
  let lastNumber = 0
  let isStopped = false

  const { hostname, dns, trustedSealers } = options
  const data = { hostname, dns, trustedSealers }
  const start = (ended: () => void) =>
    startThread(data, options, clock, answered, death => {
      ended()
      died(death)
    })
  const largeThreads = Math.floor(options.threads / 2)
  const { smallBytes, largeBytes, idleMs } = options
  const small = createLane(options.threads - largeThreads, smallBytes, start, idleMs)
  const large = largeThreads === 0 ? small : createLane(largeThreads, largeBytes, start, idleMs)

  function laneOf(task: Task): Lane {
    return task.isAlone || task.request.content.kind === 'file' ? large : small
  }

  function answered(answer: Answer): void {
    const task = tasks.get(answer.number)
    if (!task) return
    if ('error' in answer) end(task, () => task.reject(answer.error))
    else end(task, () => task.resolve(answer.reading))
  }

  function end(task: Task, settle: () => void): void {
    tasks.delete(task.number)
    laneOf(task).release(task)
    settle()
  }

  /** Which of them did it is known when it was being read; else each of them is read again alone. */
  function died({ why, jobs, culprit }: Death): void {
    if (isStopped) return
    meter.count('reading_deaths_total')
    log.warn({ why, messages: jobs.length }, 'a reading thread ended')
    for (const number of jobs) {
      const task = tasks.get(number)
      if (!task) continue
      laneOf(task).release(task)
      if (culprit === undefined || number === culprit) again(task, why, jobs.length === 1)
      else {
        // Whoever was in bad company twice is kept apart from then on.
        task.isAlone = task.wasDisturbed
        task.wasDisturbed = true
        laneOf(task).putAgain(task)
      }
    }
  }

  function again(task: Task, why: string, wasAlone: boolean): void {
    if (task.headerAlone !== undefined) {
      tasks.delete(task.number)
      readHere(task.request, task.headerAlone).then(task.resolve, task.reject)
      return
    }
    if (wasAlone) task.headerAlone = why
    task.isAlone = true
    laneOf(task).putAgain(task)
  }

  return {
    async read(request, party) {
      const { promise, resolve, reject } = Promise.withResolvers<Reading>()
      const began = clock.monotonicMs()
      const number = ++lastNumber
      const task: Task = {
        number,
        request,
        party,
        sizeBytes: sizeOf(request.content),
        isAlone: false,
        wasDisturbed: false,
        headerAlone: undefined,
        resolve(reading) {
          meter.count('reading_jobs_total', 'read')
          meter.observe('reading_wait_seconds', (clock.monotonicMs() - began) / 1000)
          resolve(reading)
        },
        reject,
        timer: undefined,
      }
      tasks.set(number, task)
      if (!laneOf(task).put(task)) {
        task.timer = setTimeout(() => {
          if (!laneOf(task).remove(task)) return
          tasks.delete(number)
          meter.count('reading_jobs_total', 'refused')
          reject(new Reply(451, '4.3.2', 'Too much mail is being read just now; try again soon'))
        }, options.waitMs)
      }
      return promise
    },
    count: () => tasks.size,
    async stop() {
      isStopped = true
      await Promise.all([small.stop(), large.stop()])
      for (const { reject } of tasks.values()) reject(new Error('the server is stopping'))
    },
  }
}

/** The header alone, in this thread, which is little work whatever stands in it. */
async function readHere(request: ReadingRequest, problem: string): Promise<Reading> {
  // What reads is loaded in its threads, and hardly ever here.
  const { readHeaderAlone } = await import('./read-mail.ts')
  const start = await readStart(request.content, limits.headerBytes)
  return { ...(await readHeaderAlone(start, request, problem)), authentication: null }
}
