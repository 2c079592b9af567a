import { Worker } from 'node:worker_threads'
import { limits } from '../base/limits.ts'
import type { Log } from '../base/log.ts'
import { Problem } from '../base/problem.ts'
import { threadEntry } from '../base/thread-entry.ts'
import { type Content, sizeOf } from '../blob/content.ts'
import { createTurns } from '../reading/turns.ts'
import { type Composed, type Composition, compose, workOf } from './composition.ts'
import { type Accepted, acceptSubmitted, type Submitted } from './submitted.ts'
import { type Answer, type Made, perform, transferOf, type Work, withBuffers } from './work.ts'

/** Makes what goes out: what is large in a thread, where it holds up nobody else. */
export interface Renderer {
  /**
   * The bytes of the attachments are here no more when it is done.
   * @param party whose work it is: who has much waits for himself, and not the others for him
   * @throws Problem `unavailable` when it takes too long or too much memory
   */
  compose(composition: Composition, party: string): Promise<Composed>
  /** Makes a message that was written elsewhere ready to be sent. @throws as `compose` */
  acceptSubmitted(submitted: Submitted, party: string): Promise<Accepted>
  /** The bytes of the `index`-th attachment; undefined when the message has none such. @throws as `compose` */
  openAttachment(raw: Content, index: number, party: string): Promise<Buffer | undefined>
  /** The bytes of all attachments of the message, in their order. @throws as `compose` */
  openAttachments(raw: Content, party: string): Promise<readonly Buffer[]>
  stop(): Promise<void>
}

export interface RendererOptions {
  /** What one work may take. */
  readonly timeoutMs: number
  readonly heapBytes: number
  /** After this without work the thread ends, for what it grew to. */
  readonly idleMs: number
  readonly log: Log
}

interface Task {
  readonly work: Work
  readonly party: string
  readonly resolve: (made: Made[keyof Made]) => void
  readonly reject: (error: unknown) => void
}

const mebibyte = 1024 * 1024

/** A thread that has one work at a time, and starts with the first: whatever that does to it harms no other. */
export function createRenderer({ timeoutMs, heapBytes, idleMs, log }: RendererOptions): Renderer {
  const waiting = createTurns<Task>()
  let worker: Worker | undefined
  let current: Task | undefined
  let timer: NodeJS.Timeout | undefined

  function start(): Worker {
    const started = new Worker(threadEntry('rendering/worker'), {
      name: 'rendering',
      resourceLimits: { maxOldGenerationSizeMb: Math.ceil(heapBytes / mebibyte) },
    })
    started.on('message', (answer: Answer) => {
      if (worker !== started) return
      const task = done()
      if ('error' in answer) task?.reject(answer.error)
      else task?.resolve(withBuffers(answer.made))
      next()
    })
    started.on('messageerror', error =>
      fail(started, `what was made of it could not be taken over: ${error.message}`),
    )
    started.on('error', (error: Error) => fail(started, `it broke its thread: ${error.message}`))
    started.on('exit', () => fail(started, 'its thread ended'))
    return started
  }

  function done(): Task | undefined {
    clearTimeout(timer)
    const task = current
    current = undefined
    return task
  }

  /** The thread is over, and with it what it had. */
  function fail(ended: Worker, why: string): void {
    if (worker !== ended) return
    worker = undefined
    ended.terminate()
    const task = done()
    if (!task) return
    log.warn({ why, kind: task.work.kind }, 'what goes out could not be made')
    task.reject(new Problem('unavailable', 'This is too much to be made now.'))
    next()
  }

  function next(): void {
    while (!current) {
      const task = waiting.take(() => true)
      clearTimeout(timer)
      if (!task) {
        worker?.unref()
        timer = setTimeout(end, idleMs).unref()
        return
      }
      give(task)
    }
  }

  function give(task: Task): void {
    worker ??= start()
    const taken = worker
    try {
      taken.postMessage(task.work, transferOf(task.work))
    } catch (error) {
      // It can not cross (DataCloneError: its bytes went over with another work). The thread knows nothing of it.
      task.reject(error)
      return
    }
    current = task
    taken.ref()
    timer = setTimeout(() => fail(taken, `it took longer than ${timeoutMs} ms`), timeoutMs)
  }

  async function end(): Promise<void> {
    const ended = worker
    worker = undefined
    await ended?.terminate()
  }

  function put<Kind extends keyof Made>(work: Work & { kind: Kind }, party: string): Promise<Made[Kind]> {
    return new Promise((resolve, reject) => {
      waiting.add(party, { work, party, resolve: made => resolve(made as Made[Kind]), reject })
      next()
    })
  }

  return {
    async compose(composition, party) {
      // To cross costs more than to compose a letter.
      if (workOf(composition) <= limits.renderedHereBytes) return compose(composition)
      return put({ kind: 'message', composition }, party)
    },
    async acceptSubmitted(submitted, party) {
      if (sizeOf(submitted.content) <= limits.renderedHereBytes) return acceptSubmitted(submitted)
      return put({ kind: 'submitted', submitted }, party)
    },
    async openAttachment(raw, index, party) {
      const work = { kind: 'attachment', raw, index } as const
      if (sizeOf(raw) <= limits.renderedHereBytes) return perform(work) as Promise<Buffer | undefined>
      return put(work, party)
    },
    async openAttachments(raw, party) {
      const work = { kind: 'attachments', raw } as const
      if (sizeOf(raw) <= limits.renderedHereBytes) return perform(work) as Promise<readonly Buffer[]>
      return put(work, party)
    },
    async stop() {
      clearTimeout(timer)
      await end()
      const stopping = new Problem('unavailable')
      done()?.reject(stopping)
      for (let task = waiting.take(() => true); task; task = waiting.take(() => true)) task.reject(stopping)
    },
  }
}
