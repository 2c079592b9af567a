import { blockOf } from '../base/network.ts'
import { crossing } from '../blob/content.ts'
import type { Reading, ReadingRequest } from './reading.ts'
import type { ReadingThread } from './thread.ts'
import { createTurns } from './turns.ts'

/** A message that is to be read. */
export interface Task {
  readonly number: number
  readonly request: ReadingRequest
  /** Whose it is. */
  readonly party: string
  readonly sizeBytes: number
  /** It is under suspicion, and must be with no other in its thread. */
  isAlone: boolean
  /** Its thread was ended by another message. */
  wasDisturbed: boolean
  /** Why its header alone is to be read; undefined: all of it is. */
  headerAlone: string | undefined
  readonly resolve: (reading: Reading) => void
  readonly reject: (error: unknown) => void
  /** While it waits. */
  timer: NodeJS.Timeout | undefined
}

/** Some threads, and what they may have at once: so many bytes, and of one block of addresses half as many. */
export interface Lane {
  /** Gives the message to a thread, or has it wait for its turn; says whether a thread has it. */
  put(task: Task): boolean
  /** The same for one that has waited already: it is next. */
  putAgain(task: Task): void
  /** It is in its thread no more: others may come. */
  release(task: Task): void
  /** Takes out what waits; says whether it did. */
  remove(task: Task): boolean
  stop(): Promise<void>
}

interface Slot {
  readonly thread: ReadingThread
  /** Of a message that must be alone. */
  isTaken: boolean
}

/**
 * @param count how many threads there are at the most
 * @param budgetBytes what they have at once; one that is larger comes when there is no other
 * @param startThread given what to call when the thread has ended
 * @param idleMs after this without work, the threads end
 */
export function createLane(
  count: number,
  budgetBytes: number,
  startThread: (ended: () => void) => ReadingThread,
  idleMs: number,
): Lane {
  const waiting = createTurns<Task>()
  const slots = new Set<Slot>()
  const placed = new Map<Task, Slot>()
  /** By block. */
  const bytesOf = new Map<string, number>()
  let allBytes = 0
  let resting: NodeJS.Timeout | undefined

  function open(): Slot {
    const slot: Slot = { thread: startThread(() => slots.delete(slot)), isTaken: false }
    slots.add(slot)
    return slot
  }

  /** The thread with the least to do, or a new one. */
  function place({ isAlone }: Task): Slot | undefined {
    const free = [...slots].filter(slot => !slot.isTaken && (!isAlone || slot.thread.size === 0))
    const best = free.reduce<Slot | undefined>(
      (least, slot) => (least && least.thread.size <= slot.thread.size ? least : slot),
      undefined,
    )
    return best && (best.thread.size === 0 || slots.size >= count) ? best : slots.size < count ? open() : best
  }

  function fits(task: Task): boolean {
    const own = bytesOf.get(blockOf(task.party)) ?? 0
    const hasRoom = allBytes === 0 || allBytes + task.sizeBytes <= budgetBytes
    return hasRoom && (own === 0 || own + task.sizeBytes <= budgetBytes / 2) && place(task) !== undefined
  }

  function account(task: Task, bytes: number): void {
    allBytes += bytes
    const block = blockOf(task.party)
    const own = (bytesOf.get(block) ?? 0) + bytes
    if (own > 0) bytesOf.set(block, own)
    else bytesOf.delete(block)
  }

  function dispatch(): void {
    for (let task = waiting.take(fits); task; task = waiting.take(fits)) {
      const slot = place(task)!
      const { number, request, headerAlone } = task
      slot.isTaken = task.isAlone
      placed.set(task, slot)
      clearTimeout(task.timer)
      account(task, task.sizeBytes)
      slot.thread.put({ number, request: { ...request, content: crossing(request.content) }, headerAlone })
    }
    clearTimeout(resting)
    if (placed.size === 0 && slots.size > 0) resting = setTimeout(end, idleMs).unref()
  }

  async function end(): Promise<void> {
    const threads = [...slots].map(({ thread }) => thread)
    slots.clear()
    await Promise.all(threads.map(thread => thread.stop()))
  }

  return {
    put(task) {
      waiting.add(task.party, task)
      dispatch()
      return placed.has(task)
    },
    putAgain(task) {
      waiting.addFirst(task.party, task)
      dispatch()
    },
    release(task) {
      const slot = placed.get(task)
      if (!slot) return
      placed.delete(task)
      slot.isTaken = false
      account(task, -task.sizeBytes)
      dispatch()
    },
    remove: task => waiting.remove(task),
    async stop() {
      clearTimeout(resting)
      await end()
    },
  }
}
