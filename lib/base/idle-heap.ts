import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { type Worked, workedSince } from './loop-load.ts'

/** What is asked of this process; another one in tests. */
export interface HeapParts {
  /** The share of the time since `before` in which the event loop worked, and what the next call takes as that. */
  readonly worked: (before: unknown) => Worked
  readonly collect: () => void
}

/** A loop that works less than this is idle: health checks and the timed sweeps go on. */
const idleShare = 0.05

/**
 * Collects the garbage once when nothing is done after work was: V8 does so while memory is asked for and not afterwards, and keeps what
 * a start or a burst has taken. It takes some 30 ms, in a time when nobody waits.
 */
export function startIdleHeap(lookMs: number, parts: HeapParts = ofThisThread): { stop(): void } {
  let hasWorked = true
  let before: unknown
  const timer = setInterval(() => {
    const { share, next } = parts.worked(before)
    before = next
    if (share >= idleShare) {
      hasWorked = true
    } else if (hasWorked) {
      hasWorked = false
      parts.collect()
    }
  }, lookMs).unref()
  return { stop: () => clearInterval(timer) }
}

const ofThisThread: HeapParts = {
  worked: workedSince,
  collect() {
    setFlagsFromString('--expose-gc')
    const gc: () => void = runInNewContext('gc')
    setFlagsFromString('--no-expose-gc')
    gc()
  },
}
