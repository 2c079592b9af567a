import { FairSlots } from '../base/fair-slots.ts'
import { blockOf } from '../base/network.ts'
import { crossing, sizeOf } from '../blob/content.ts'
import type { Answer, Job } from './job.ts'
import type { Death, ReadingThread } from './thread.ts'

/** Some threads, and what they may have at once: so many bytes, and of one block of addresses half as many. */
export interface Lane {
  /**
   * Reads a message in its turn.
   * @param isAlone whether no other may be read meanwhile
   * @returns undefined if it waited for too long, or the lane was stopped
   */
  read(job: Job, party: string, isAlone: boolean): Promise<Answer | Death | undefined>
  stop(): Promise<void>
}

export interface LaneOptions {
  /** How many threads there are at the most. */
  readonly threads: number
  /** What they have at once; a message that is larger is read when there is no other. */
  readonly bytes: number
  readonly waitMs: number
  /** After this without work, the threads end. */
  readonly idleMs: number
}

/** @param startThread given what to call when the thread has ended */
export function createLane(
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
