import { performance } from 'node:perf_hooks'
import type { Clock } from './clock.ts'

/** How long the event loop is watched until its load is told anew. */
const lookMs = 100
/** Of its time it has worked so much, and not waited, when it counts as busy. */
const busyShare = 0.5

/** How much the event loop has worked, of 0 to 1, and what to give as `before` the next time. */
export interface Worked {
  readonly share: number
  readonly next: unknown
}

/**
 * Tells whether the event loop of this thread has had more to do than to wait for.
 * @param worked as `workedSince`
 */
export function createLoopLoad(
  clock: Pick<Clock, 'monotonicMs'>,
  worked: (before: unknown) => Worked = workedSince,
): () => boolean {
  let { next: before } = worked(undefined)
  let lookedAtMs = clock.monotonicMs()
  let isBusy = false
  return () => {
    const nowMs = clock.monotonicMs()
    if (nowMs - lookedAtMs < lookMs) return isBusy
    const { share, next } = worked(before)
    before = next
    lookedAtMs = nowMs
    isBusy = share >= busyShare
    return isBusy
  }
}

/** The share of its time that the event loop of this thread has worked since `before`, or its begin. */
export function workedSince(before: unknown): Worked {
  const now = performance.eventLoopUtilization()
  const since = before === undefined ? now : performance.eventLoopUtilization(now, before as typeof now)
  return { share: since.utilization, next: now }
}
