import { Worker } from 'node:worker_threads'
import { Problem } from '../../base/problem.ts'
import { threadEntry } from '../../base/thread-entry.ts'
import { crossing } from '../../blob/content.ts'
import { createTurns } from '../turns.ts'
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
  /** Ends the thread; what it is reading comes to nothing. */
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
  readonly request: TextRequest
  readonly party: string
  readonly resolve: (extracted: ExtractedText | undefined) => void
  readonly reject: (error: Error) => void
  /** While it waits, until it has waited too long; while it is read, until it is late. */
  timer: NodeJS.Timeout | undefined
}

const mebibyte = 1024 * 1024

/**
 * One thread that reads one attachment at a time: who asks waits, and mail does not, for it is read elsewhere
 * (lib/reading/pool.ts). An attachment that ends it, or is late, is not tried again.
 */
export function createTextReader(options: TextReaderOptions): TextReader {
  const turns = createTurns<Task>()
  const waiting = new Map<string, number>()
  let count = 0
  let current: Task | undefined
  let worker: Worker | undefined
  let resting: NodeJS.Timeout | undefined
  let isStopped = false

  function start(): Worker {
    const started = new Worker(threadEntry('reading/attachment/worker'), {
      name: 'attachments',
      resourceLimits: { maxOldGenerationSizeMb: Math.ceil(options.heapBytes / mebibyte) },
    })
    started.on('message', (answer: TextAnswer) => {
      if (worker === started) answered(answer)
    })
    // What broke it is told by its end.
    started.on('error', () => {})
    started.on('exit', () => {
      if (worker !== started) return
      worker = undefined
      end(task => task.resolve({ extractionMethod: 'error', text: null }))
    })
    return started
  }

  function answered(answer: TextAnswer): void {
    if (answer.kind === 'begun') {
      if (current) current.timer = setTimeout(() => worker?.terminate(), options.timeoutMs)
    } else if (answer.kind === 'read') end(task => task.resolve(answer.extracted))
    else end(task => task.reject(answer.error))
  }

  function end(settle: (task: Task) => void): void {
    const task = current
    if (!task) return
    clearTimeout(task.timer)
    current = undefined
    settle(task)
    next()
  }

  function next(): void {
    if (current || isStopped) return
    current = turns.take(() => true)
    clearTimeout(resting)
    if (!current) {
      worker?.unref()
      resting = setTimeout(rest, options.idleMs).unref()
      return
    }
    leave(current)
    worker ??= start()
    worker.ref()
    const { content, index } = current.request
    worker.postMessage({ content: crossing(content), index } satisfies TextRequest)
  }

  function rest(): void {
    const idle = worker
    // What comes while it ends is for another thread: with this one it would come to nothing.
    worker = undefined
    void idle?.terminate()
  }

  function leave(task: Task): void {
    clearTimeout(task.timer)
    count--
    const own = waiting.get(task.party)! - 1
    if (own > 0) waiting.set(task.party, own)
    else waiting.delete(task.party)
  }

  return {
    async read(request, party) {
      const own = waiting.get(party) ?? 0
      if (isStopped || count >= options.waiting || own >= options.waiting / 2) throw tooMuch()
      const { promise, resolve, reject } = Promise.withResolvers<ExtractedText | undefined>()
      const task: Task = { request, party, resolve, reject, timer: undefined }
      count++
      waiting.set(party, own + 1)
      task.timer = setTimeout(() => {
        if (!turns.remove(task)) return
        leave(task)
        reject(tooMuch())
      }, options.waitMs)
      turns.add(party, task)
      next()
      return promise
    },
    async stop() {
      isStopped = true
      clearTimeout(resting)
      for (let task = turns.take(() => true); task; task = turns.take(() => true)) {
        leave(task)
        task.reject(tooMuch())
      }
      const { timer, reject } = current ?? {}
      clearTimeout(timer)
      current = undefined
      reject?.(tooMuch())
      const ending = worker
      worker = undefined
      await ending?.terminate()
    },
  }
}

function tooMuch(): Problem {
  const message = 'Too many attachments are being read just now. Try again shortly.'
  return new Problem('unavailable', message, { retryAfterSeconds: 5 })
}
