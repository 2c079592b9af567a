import { Worker } from 'node:worker_threads'
import { FairSlots } from '../base/fair-slots.ts'
import type { Log } from '../base/log.ts'
import { Problem } from '../base/problem.ts'
import { threadEntry } from '../base/threads.ts'
import { type Content, sizeOf } from '../blob/content.ts'
import { renderedHereBytes } from '../mail/compose/compose.ts'
import { type Composed, type Composition, compose, workOf } from './composition.ts'
import { type Accepted, acceptSubmitted, type Submitted } from './submitted.ts'
import { type Answer, type Asked, type Made, perform, transferOf, type Work, withBuffers } from './work.ts'

/** Letters that are made at once without a thread, and in it. */
export const lettersHere = 4
export const lettersAtOnce = 32

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
  readonly resolve: (made: Made[keyof Made]) => void
  readonly reject: (error: unknown) => void
}

const mebibyte = 1024 * 1024

/** A thread that starts with the first work, and has so many at a time: what one does to it harms these alone. */
function createThread({ timeoutMs, heapBytes, idleMs, log, atOnce }: RendererOptions & { atOnce: number }) {
  const slots = new FairSlots({ size: atOnce })
  const given = new Map<number, Task>()
  let worker: Worker | undefined
  let count = 0
  /** Of what it has, or of its end when it has nothing. */
  let timer: NodeJS.Timeout | undefined

  function start(): Worker {
    const started = new Worker(threadEntry('rendering/worker'), {
      name: 'rendering',
      resourceLimits: { maxOldGenerationSizeMb: Math.ceil(heapBytes / mebibyte) },
    })
    started.on('message', (answer: Answer) => {
      if (worker !== started) return
      const task = given.get(answer.id)
      given.delete(answer.id)
      if ('error' in answer) task?.reject(answer.error)
      else task?.resolve(withBuffers(answer.made))
      watch(started)
    })
    started.on('messageerror', error =>
      fail(started, `what was made of it could not be taken over: ${error.message}`),
    )
    started.on('error', (error: Error) => fail(started, `it broke its thread: ${error.message}`))
    started.on('exit', () => fail(started, 'its thread ended'))
    return started
  }

  /** It has begun something, or brought something to its end: it has time again. */
  function watch(watched: Worker): void {
    clearTimeout(timer)
    if (given.size > 0) {
      timer = setTimeout(() => fail(watched, `it took longer than ${timeoutMs} ms`), timeoutMs)
      return
    }
    watched.unref()
    timer = setTimeout(end, idleMs).unref()
  }

  /** The thread is over, and with it what it had. */
  function fail(ended: Worker, why: string): void {
    if (worker !== ended) return
    worker = undefined
    clearTimeout(timer)
    ended.terminate()
    const lost = [...given.values()]
    given.clear()
    if (lost.length > 0) log.warn({ why, kind: lost[0]!.work.kind }, 'what goes out could not be made')
    for (const { reject } of lost) reject(new Problem('unavailable', 'This is too much to be made now.'))
  }

  /** @throws DataCloneError when its bytes went over with another work; the thread knows nothing of it then */
  function give(work: Work): Promise<Made[keyof Made]> {
    worker ??= start()
    const id = ++count
    worker.postMessage({ id, work } satisfies Asked, transferOf(work))
    const { promise, resolve, reject } = Promise.withResolvers<Made[keyof Made]>()
    given.set(id, { work, resolve, reject })
    worker.ref()
    if (given.size === 1) watch(worker)
    return promise
  }

  async function end(): Promise<void> {
    const ended = worker
    worker = undefined
    await ended?.terminate()
  }

  return {
    isRunning: () => worker !== undefined,
    async put<Kind extends keyof Made>(work: Work & { kind: Kind }, party: string): Promise<Made[Kind]> {
      const leave = await slots.enter(party)
      if (!leave || slots.isStopped) throw new Problem('unavailable')
      try {
        return (await give(work)) as Made[Kind]
      } finally {
        leave()
      }
    },
    async stop(): Promise<void> {
      clearTimeout(timer)
      slots.stop()
      await end()
      for (const { reject } of given.values()) reject(new Problem('unavailable'))
      given.clear()
    },
  }
}

/**
 * What is large is made in one thread, one after the other. Letters are made here, which for one takes less time than to cross;
 * but when many are sent at once it is the event loop that all wait for, and they have a thread of their own.
 */
export function createRenderer(options: RendererOptions): Renderer {
  const large = createThread({ ...options, atOnce: 1 })
  const letters = createThread({ ...options, atOnce: lettersAtOnce })
  let composing = 0

  async function composeHere(composition: Composition): Promise<Composed> {
    composing++
    try {
      return await compose(composition)
    } finally {
      composing--
    }
  }

  return {
    async compose(composition, party) {
      const work = { kind: 'message', composition } as const
      if (workOf(composition) > renderedHereBytes) return large.put(work, party)
      const areMany = letters.isRunning() || composing >= lettersHere
      return areMany ? letters.put(work, party) : composeHere(composition)
    },
    async acceptSubmitted(submitted, party) {
      if (sizeOf(submitted.content) <= renderedHereBytes) return acceptSubmitted(submitted)
      return large.put({ kind: 'submitted', submitted }, party)
    },
    async openAttachment(raw, index, party) {
      const work = { kind: 'attachment', raw, index } as const
      if (sizeOf(raw) <= renderedHereBytes) return perform(work) as Promise<Buffer | undefined>
      return large.put(work, party)
    },
    async openAttachments(raw, party) {
      const work = { kind: 'attachments', raw } as const
      if (sizeOf(raw) <= renderedHereBytes) return perform(work) as Promise<readonly Buffer[]>
      return large.put(work, party)
    },
    async stop() {
      await Promise.all([large.stop(), letters.stop()])
    },
  }
}
