import type { Clock } from '../base/clock.ts'
import { places } from './job.ts'

/** How often it is looked at, as a part of what reading may take. */
const looks = 10

/** Watches a thread from outside. */
export interface Watch {
  start(): void
  stop(): void
}

/**
 * Looks now and then whether the thread is still at the same message, or its event loop stands still, and tells when too
 * long: either alone is enough.
 * @param place what the thread shows of itself (`places`)
 * @param late may be called more than once
 */
export function createWatch(place: Int32Array, timeoutMs: number, clock: Clock, late: () => void): Watch {
  let timer: NodeJS.Timeout | undefined
  const since = [0, 0]
  const seen = [0, 0]
  const look = () => {
    const now = clock.monotonicMs()
    for (const at of [places.current, places.heartbeat]) {
      const value = Atomics.load(place, at)
      if (value !== seen[at] || (at === places.current && value === 0)) {
        seen[at] = value
        since[at] = now
      } else if (now - since[at]! > timeoutMs) late()
    }
  }
  return {
    start() {
      if (timer) return
      since.fill(clock.monotonicMs())
      timer = setInterval(look, Math.max(1, timeoutMs / looks))
    },
    stop() {
      clearInterval(timer)
      timer = undefined
    },
  }
}
