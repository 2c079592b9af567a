import type { Clock } from './clock.ts'

/** How often the log says what strangers make happen again and again. */
export const tallyMs = 60_000

/** Counts what strangers make happen as often as they like, so that the log says it once in a while and not each time. */
export interface Tally {
  /** One more of these. The first after a silence is told at once, with what was counted since the last time. */
  note(what: string): void
}

/**
 * @param everyMs how long nothing is told after something was
 * @param tell is given how many there were of each since it was called last
 */
export function createTally(
  clock: Clock,
  everyMs: number,
  tell: (counts: Readonly<Record<string, number>>) => void,
): Tally {
  const counts = new Map<string, number>()
  let toldAt: number | undefined
  return {
    note(what) {
      counts.set(what, (counts.get(what) ?? 0) + 1)
      const now = clock.monotonicMs()
      if (toldAt !== undefined && now - toldAt < everyMs) return
      toldAt = now
      tell(Object.fromEntries(counts))
      counts.clear()
    },
  }
}
