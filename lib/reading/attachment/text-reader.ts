import { Worker } from 'node:worker_threads'
import { FairSlots } from '../../base/fair-slots.ts'
import { Problem } from '../../base/problem.ts'
import { threadEntry } from '../../base/threads.ts'
import { crossing } from '../../blob/content.ts'
import type { ExtractedText } from './extract.ts'
import type { TextAnswer, TextRequest } from './job.ts'

/** Reads the text of attachments where what is in them can do no harm. */
export interface TextReader {
  /**
   * Never fails for what an attachment holds: of one that can't be read in time and memory the method is `error`.
   * Undefined: the message has no such attachment.
   * @param party who asks: who asks for much waits for himself, and not the others for him
   * @throws Problem `unavailable` when too much waits, or for too long; what reading the file of the bytes throws
   */
  read(request: TextRequest, party: string): Promise<ExtractedText | undefined>
  /** Ends the threads; what they are reading comes to nothing. */
  stop(): Promise<void>
}

export interface TextReaderOptions {
  /** What reading one attachment may take. */
  readonly timeoutMs: number
  readonly heapBytes: number
  /** How many wait at the most, of one party half as many, and for how long. */
  readonly waiting: number
  readonly waitMs: number
  /** After this without work, the thread ends. */
  readonly idleMs: number
}

interface Task {
  readonly resolve: (extracted: ExtractedText | undefined) => void
  readonly reject: (error: Error) => void
  /** Until it is late. */
  timer: NodeJS.Timeout | undefined
}

const mebibyte = 1024 * 1024

const threadCount = 2

/** A thread, from its first attachment until it rests. */
interface Seat {
  worker: Worker | undefined
  current: Task | undefined
  resting: NodeJS.Timeout | undefined
}

/**
 * Two threads that read one attachment each, of two parties: one party with slow attachments does not hold up the others. Mail is
 * read elsewhere (lib/reading/pool.ts). An attachment that ends its thread, or is late, is not tried again.
 */
export function createTextReader(options: TextReaderOptions): TextReader {
  const { waiting, waitMs } = options
  const slots = new FairSlots({ size: threadCount, share: () => 1, waiting, waitMs })
  const seats = Array.from(
    { length: threadCount },
    (): Seat => ({ worker: undefined, current: undefined, resting: undefined }),
  )

  function start(seat: Seat): Worker {
    const started = new Worker(threadEntry('reading/attachment/worker'), {
      name: 'attachments',
      resourceLimits: { maxOldGenerationSizeMb: Math.ceil(options.heapBytes / mebibyte) },
    })
    started.on('message', (answer: TextAnswer) => {
      if (seat.worker === started) answered(seat, answer)
    })
    // What broke it is told by its end.
    started.on('error', () => {})
    started.on('exit', () => {
      if (seat.worker !== started) return
      seat.worker = undefined
      end(seat, task => task.resolve({ extractionMethod: 'error', text: null }))
    })
    return started
  }

  function answered(seat: Seat, answer: TextAnswer): void {
    const { current } = seat
    if (answer.kind === 'begun') {
      if (current) current.timer = setTimeout(() => seat.worker?.terminate(), options.timeoutMs)
    } else if (answer.kind === 'read') end(seat, task => task.resolve(answer.extracted))
    else end(seat, task => task.reject(answer.error))
  }

  function end(seat: Seat, settle: (task: Task) => void): void {
    const task = seat.current
    if (!task) return
    clearTimeout(task.timer)
    seat.current = undefined
    settle(task)
    seat.worker?.unref()
    seat.resting = setTimeout(() => rest(seat), options.idleMs).unref()
  }

  function begin(seat: Seat, { content, index }: TextRequest): Promise<ExtractedText | undefined> {
    const { promise, resolve, reject } = Promise.withResolvers<ExtractedText | undefined>()
    seat.current = { resolve, reject, timer: undefined }
    clearTimeout(seat.resting)
    seat.worker ??= start(seat)
    seat.worker.ref()
    seat.worker.postMessage({ content: crossing(content), index } satisfies TextRequest)
    return promise
  }

  function rest(seat: Seat): void {
    const idle = seat.worker
    // What comes while it ends is for another thread: with this one it would come to nothing.
    seat.worker = undefined
    void idle?.terminate()
  }

  return {
    async read(request, party) {
      const leave = await slots.enter(party)
      if (!leave || slots.isStopped) throw tooMuch()
      const free = seats.filter(({ current }) => !current)
      try {
        return await begin(free.find(({ worker }) => worker) ?? free[0]!, request)
      } finally {
        leave()
      }
    },
    async stop() {
      slots.stop()
      const endings = seats.map(seat => {
        clearTimeout(seat.resting)
        clearTimeout(seat.current?.timer)
        seat.current?.reject(tooMuch())
        seat.current = undefined
        const ending = seat.worker
        seat.worker = undefined
        return ending?.terminate()
      })
      await Promise.all(endings)
    },
  }
}

function tooMuch(): Problem {
  const message = 'Too many attachments are being read just now. Try again shortly.'
  return new Problem('unavailable', message, { retryAfterSeconds: 5 })
}
