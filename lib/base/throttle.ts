import type { Clock } from './clock.ts'

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
