import type { Clock } from './clock.ts'

/**
 * What a thread shows of itself in shared memory, as Int32Array: the number of what it computes on (0: nothing), and a count
 * that goes on as long as its event loop comes round.
 */
export const places = { current: 0, heartbeat: 1, count: 2 } as const

/** How often a thread that has work shows that its event loop comes round. */
export const heartbeatMs = 100

/** How often it is looked at, as a part of what it may take. */
const looks = 10

/** Looks at a thread from outside while it has work. */
export interface ThreadWatch {
  start(): void
  stop(): void
}

/**
 * Looks now and then whether it is still at the same, or its event loop stands still, and tells when too long: either alone is
 * enough.
 * @param late may be called more than once
 */
export function createThreadWatch(
  place: Int32Array,
  timeoutMs: number,
  clock: Clock,
  late: () => void,
): ThreadWatch {
  let timer: NodeJS.Timeout | undefined
  const lookMs = Math.max(1, timeoutMs / looks)
  /** How long each place has shown the same. */
  const sameMs = [0, 0]
  const seen = [0, 0]
  let lookedAt = 0
  const look = () => {
    const now = clock.monotonicMs()
    // If this thread itself stood still (SIGSTOP, a suspended machine), so did the other one, and that time says nothing of it.
    const passedMs = Math.min(now - lookedAt, 2 * lookMs)
    lookedAt = now
    for (const at of [places.current, places.heartbeat]) {
      const value = Atomics.load(place, at)
      if (value !== seen[at] || (at === places.current && value === 0)) {
        seen[at] = value
        sameMs[at] = 0
      } else {
        sameMs[at]! += passedMs
        if (sameMs[at]! > timeoutMs) late()
      }
    }
  }
  return {
    start() {
      if (timer) return
      sameMs.fill(0)
      lookedAt = clock.monotonicMs()
      timer = setInterval(look, lookMs)
    },
    stop() {
      clearInterval(timer)
      timer = undefined
    },
  }
}

/** After the places stands, as text, for whom it computes. */
const partyAt = places.count * Int32Array.BYTES_PER_ELEMENT
const partyBytes = 64

/** Shared memory in which a thread shows what it is at, and for whom. */
export function createThreadMark(): SharedArrayBuffer {
  return new SharedArrayBuffer(partyAt + partyBytes)
}

/** The places in it. */
export function placesIn(mark: SharedArrayBuffer): Int32Array {
  return new Int32Array(mark, 0, places.count)
}

/** In the thread: gives the function that does what can't be interrupted, and shows meanwhile for whom. */
export function markWork(mark: SharedArrayBuffer): <T>(party: string, work: () => T) => T {
  const place = placesIn(mark)
  const text = Buffer.from(mark, partyAt, partyBytes)
  let count = 0
  return (party, work) => {
    text.fill(0)
    text.write(party)
    // Zero is nothing.
    count = (count % 0x7fffffff) + 1
    Atomics.store(place, places.current, count)
    try {
      return work()
    } finally {
      Atomics.store(place, places.current, 0)
    }
  }
}

/** In the thread: shows that its event loop comes round. Gives the function that ends it. */
export function beat(mark: SharedArrayBuffer): () => void {
  const place = placesIn(mark)
  const timer = setInterval(() => Atomics.add(place, places.heartbeat, 1), heartbeatMs)
  return () => clearInterval(timer)
}

/** From outside: for whom it was at work when it ended; undefined when for nobody. */
export function findCulprit(mark: SharedArrayBuffer): string | undefined {
  if (Atomics.load(placesIn(mark), places.current) === 0) return undefined
  const text = Buffer.from(new Uint8Array(mark, partyAt, partyBytes)).toString()
  return text.slice(0, text.indexOf('\0'))
}
