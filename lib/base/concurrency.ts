import { setImmediate } from 'node:timers/promises'
import type { Clock } from './time.ts'

/** Bytes of work after which a long computation lets others have the event loop, and until which a short one does not. */
export const sliceBytes = 1024 * 1024
export const unpacedBytes = 256 * 1024

/**
 * Gives its callers their turns, one in each turn of the event loop. SQLite answers at once, so who reads much of the
 * database would never let go of the loop, and many who do would leave little of it to others.
 */
export function takeTurns(): () => Promise<void> {
  let last: Promise<void> = Promise.resolve()
  return () => {
    last = last.then(() => setImmediate())
    return last
  }
}

const takePacedTurn = takeTurns()

/**
 * Asked before each piece of a long computation, with how many bytes it works on.
 * @returns when it may be done: at once, or in a turn of the event loop in which nobody else computes so
 */
export type Pace = (bytes: number) => Promise<void>

/**
 * The pace of one long computation: `sliceBytes` in one turn of the event loop, of all such computations in the
 * process together. A short one, of `unpacedBytes`, waits for nobody.
 */
export function createPace(): Pace {
  let room: number = unpacedBytes
  return async bytes => {
    if (bytes > room) {
      await takePacedTurn()
      room = sliceBytes
    }
    room -= bytes
  }
}

/** A token bucket for each name: full at first, refilled evenly over a minute. Of several nodes each has its share of it. */
export interface Throttle {
  /** Takes one, or `count`; returns 0, or the whole seconds after which there are so many. More than a minute's tokens count as a minute's. */
  take(name: string, count?: number): number
}

interface Bucket {
  tokens: number
  at: number
}

/** Names kept at once; beyond it those that have been full again for longest are forgotten, which changes nothing for them. */
const namesKept = 10_000

/** So much of one is made up by sums of fractions: who comes after as long as he was told gets his. */
const rounding = 1e-6

/** @param nodes how many there are by now, each of which has a throttle for the same names; whatever they are, each lets one pass */
export function createThrottle(clock: Clock, perMinute: number, nodes = () => 1): Throttle {
  const buckets = new Map<string, Bucket>()
  const share = () => Math.max(1, perMinute / nodes())

  function forgetFull(now: number): void {
    const most = share()
    for (const [name, bucket] of buckets) {
      if (bucket.tokens + (now - bucket.at) * (most / 60_000) >= most) buckets.delete(name)
    }
    // All of them are in use: the one that was there first gives way.
    if (buckets.size >= namesKept) buckets.delete(buckets.keys().next().value!)
  }

  return {
    take(name, count = 1) {
      const now = clock.monotonicMs()
      const most = share()
      const perMs = most / 60_000
      let bucket = buckets.get(name)
      if (!bucket) {
        if (buckets.size >= namesKept) forgetFull(now)
        bucket = { tokens: most, at: now }
        buckets.set(name, bucket)
      }
      bucket.tokens = Math.min(most, bucket.tokens + (now - bucket.at) * perMs)
      bucket.at = now
      const asked = Math.min(count, most)
      if (bucket.tokens >= asked - rounding) {
        bucket.tokens -= asked
        return 0
      }
      return Math.max(1, Math.ceil((asked - bucket.tokens) / perMs / 1000))
    },
  }
}

/** What ends one piece of work, for a reason of its own or for one of others. */
export interface JoinedAbort {
  readonly signal: AbortSignal
  abort(reason: unknown): void
  /** The work is over: the others do not concern it any more. */
  leave(): void
}

/**
 * Ends with each of these signals. `AbortSignal.any` needs no `leave`, and for that holds weak references: it took 24 µs for each mail
 * that leaves, and this takes 6.
 */
export function joinAborts(...signals: readonly AbortSignal[]): JoinedAbort {
  const own = new AbortController()
  const leaves = signals.map(signal => {
    const end = () => own.abort(signal.reason)
    signal.addEventListener('abort', end, { once: true })
    if (signal.aborted) end()
    return () => signal.removeEventListener('abort', end)
  })
  return {
    signal: own.signal,
    abort: reason => own.abort(reason),
    leave() {
      for (const leave of leaves) leave()
    },
  }
}

/** Destinations that memory knows something of. */
export const destinationsKnown = 10_000

/** A map that keeps the entries that were set last, at most so many of them. */
export class Recent<Value> {
  readonly #values = new Map<string, Value>()
  readonly #most: number

  constructor(most: number) {
    this.#most = most
  }

  set(name: string, value: Value): void {
    this.#values.delete(name)
    this.#values.set(name, value)
    if (this.#values.size > this.#most) this.#values.delete(this.#values.keys().next().value!)
  }

  delete(name: string): void {
    this.#values.delete(name)
  }

  get(name: string): Value | undefined {
    return this.#values.get(name)
  }
}
