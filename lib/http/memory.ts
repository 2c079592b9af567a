import { Problem } from '../base/problem.ts'
import type { Clock } from '../base/time.ts'
import type { Caller } from '../core/app/caller.ts'

/** The memory that request bodies, large answers and replayed events hold, shared by all keys and pods. */
export interface MemoryBudget {
  /** @param owner the key and the pod that the memory is counted for (`ownerOf`) */
  open(owner: MemoryOwner): MemoryHold
  /** The bytes that all of them hold. */
  held(): number
}

export interface MemoryOwner {
  /** A key, or the address of a client without one. */
  readonly key: string
  readonly pod: string | undefined
}

/** What one body, answer or event text holds. */
export interface MemoryHold {
  /**
   * Waits until `bytes` are free and holds them. A hold never overtakes earlier ones of the same key or pod. The first hold of a key may
   * have any size.
   * @param signal returns a signal that is aborted when the bytes are no longer needed; only called if they have to wait
   * @throws Problem `rate_limit_exceeded` if the key or its pod holds too much for too long, `unavailable` if all together do;
   * the reason of `signal`
   */
  enter(bytes: number, signal: () => AbortSignal): Promise<void>
  /**
   * Holds `bytes` instead of what it held, without waiting. If all together hold too much, holds that allow it and are old enough are cut.
   * @throws Problem as `enter`
   */
  grow(bytes: number): void
  /**
   * Allows this hold to be cut if others need the memory and it is one of the oldest.
   * @param cut ends the request, answer or stream that holds the memory
   * @returns a function that takes the permission back
   */
  allowCut(cut: () => void): () => void
  /** Holds `bytes` instead of what it held: they are used already. Does nothing after `leave`. */
  become(bytes: number): void
  /** Holds nothing any more. */
  leave(): void
}

export interface MemoryLimits {
  readonly bytes: number
  readonly bytesPerKey: number
  /** How long `enter` waits, and how long a hold is safe from being cut. */
  readonly waitMs: number
}

/** Whose memory the body of a request or its answer takes: that of the key, or of the address without one. */
export function ownerOf(caller: Caller | undefined, address: string): MemoryOwner {
  if (!caller) return { key: `address ${address}`, pod: undefined }
  return { key: `key ${caller.keyId}`, pod: caller.podId === null ? undefined : `pod ${caller.podId}` }
}

interface Hold {
  readonly owner: MemoryOwner
  bytes: number
}

interface Waiting {
  readonly hold: Hold
  readonly bytes: number
  readonly admit: () => void
}

/** @param refused called for each `enter` that is refused */
export function createMemoryBudget(
  { bytes: allBytes, bytesPerKey, waitMs }: MemoryLimits,
  clock: Pick<Clock, 'monotonicMs'>,
  refused: () => void = () => {},
): MemoryBudget {
  const heldBy = new Map<string, number>()
  let total = 0
  /** Oldest first. */
  const waiting = new Set<Waiting>()
  const cuts = new Map<Hold, { readonly sinceMs: number; readonly cut: () => void }>()

  /** Cuts the oldest holds, as long as `isNeeded`. */
  function cutOldest(isNeeded: () => boolean): void {
    const before = clock.monotonicMs() - waitMs
    for (const { sinceMs, cut } of cuts.values()) {
      if (sinceMs > before || !isNeeded()) return
      cut()
    }
  }

  /** Why a hold cannot take `more` bytes now. A key or pod without another hold is limited by the memory of all only. */
  function lackOf({ owner: { key, pod }, bytes }: Hold, more: number): 'key' | 'pod' | 'all' | undefined {
    const ofKey = heldBy.get(key) ?? 0
    if (ofKey > bytes && ofKey + more > bytesPerKey) return 'key'
    const ofPod = pod === undefined ? 0 : (heldBy.get(pod) ?? 0)
    // A pod leaves as much free as it holds, so that a pod that holds nothing finds some.
    if (ofPod > bytes && ofPod + more > allBytes - total - more) return 'pod'
    return total > 0 && total + more > allBytes ? 'all' : undefined
  }

  function change(hold: Hold, by: number): void {
    hold.bytes += by
    total += by
    for (const party of partiesOf(hold)) {
      const now = (heldBy.get(party) ?? 0) + by
      if (now === 0) heldBy.delete(party)
      else heldBy.set(party, now)
    }
    if (by < 0) admitWaiting()
  }

  function admitWaiting(): void {
    const passed = new Set<string>()
    for (const one of waiting) {
      const parties = partiesOf(one.hold)
      const lack = parties.some(party => passed.has(party)) ? 'key' : lackOf(one.hold, one.bytes)
      if (lack === 'all') return
      if (lack) for (const party of parties) passed.add(party)
      else {
        waiting.delete(one)
        change(one.hold, one.bytes)
        one.admit()
      }
    }
  }

  function wait(hold: Hold, bytes: number, signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const one: Waiting = { hold, bytes, admit: () => end(resolve) }
    const end = (settle: () => void) => {
      waiting.delete(one)
      clearTimeout(timer)
      signal.removeEventListener('abort', abort)
      settle()
    }
    const abort = () => end(() => reject(signal.reason))
    const late = () => {
      const lack = lackOf(hold, bytes) ?? 'key'
      // What a cut sets free goes to the first that waits.
      cutOldest(() => waiting.has(one) && lackOf(hold, bytes) === 'all')
      if (!waiting.has(one)) return
      refused()
      end(() => reject(refusal(lack)))
      // Others of the same key or pod waited behind it.
      admitWaiting()
    }
    const timer = setTimeout(late, waitMs)
    signal.addEventListener('abort', abort)
    waiting.add(one)
    if (signal.aborted) abort()
    else admitWaiting()
    return promise
  }

  return {
    held: () => total,
    open(owner) {
      const hold: Hold = { owner, bytes: 0 }
      let isOver = false
      const become = (bytes: number) => {
        if (!isOver) change(hold, bytes - hold.bytes)
      }
      const leave = () => {
        become(0)
        isOver = true
        cuts.delete(hold)
      }
      return {
        async enter(bytes, signal) {
          if (waiting.size === 0 && !lackOf(hold, bytes)) change(hold, bytes)
          else await wait(hold, bytes, signal())
        },
        grow(bytes) {
          const more = bytes - hold.bytes
          cutOldest(() => lackOf(hold, more) === 'all')
          const lack = lackOf(hold, more)
          if (lack) throw refusal(lack)
          become(bytes)
        },
        allowCut(cut) {
          const end = () => void cuts.delete(hold)
          if (isOver) return end
          const leaveAndCut = () => {
            leave()
            cut()
          }
          cuts.set(hold, { sinceMs: clock.monotonicMs(), cut: leaveAndCut })
          return end
        },
        become,
        leave,
      }
    },
  }
}

function partiesOf({ owner: { key, pod } }: Hold): string[] {
  return pod === undefined ? [key] : [key, pod]
}

/** What a request is refused with if others need the memory that it holds. */
export function memoryNeeded(): Problem {
  return new Problem('unavailable', 'Too many large requests and answers are under way. Try again shortly.')
}

function refusal(lack: 'key' | 'pod' | 'all'): Problem {
  if (lack === 'all') return memoryNeeded()
  const whose = lack === 'key' ? 'this key' : "this pod's keys"
  const message = `The requests of ${whose} under way, and answers that were not read yet, hold too much memory. Finish those first.`
  return new Problem('rate_limit_exceeded', message, { retryAfterSeconds: 1 })
}

/** The connection of an event stream. */
export interface StreamConnection {
  readonly isOver: boolean
  /** Calls `listener` when it is over. */
  onceOver(listener: () => void): void
  cut(): void
}

/** Gives each text that is made for one reader of a stream its memory until it was sent, or until the connection is over. */
export function streamMemory(
  memory: MemoryBudget,
  owner: MemoryOwner,
  connection: StreamConnection,
): (bytes: number) => Promise<MemoryHold> {
  const holds = new Set<MemoryHold>()
  const over = new AbortController()
  connection.onceOver(() => {
    over.abort(new Problem('unavailable'))
    for (const hold of holds) hold.leave()
    holds.clear()
  })
  return async bytes => {
    const hold = memory.open(owner)
    await hold.enter(bytes, () => over.signal)
    hold.allowCut(() => connection.cut())
    const leave = () => {
      holds.delete(hold)
      hold.leave()
    }
    if (connection.isOver) leave()
    else holds.add(hold)
    return { ...hold, leave }
  }
}
