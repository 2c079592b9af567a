import type { Meter } from '../../lib/base/metrics.ts'

/** A meter that keeps what was counted, each name with its labels, and how often. */
export function countingMeter(): { readonly meter: Meter; readonly counted: Map<string, number> } {
  const counted = new Map<string, number>()
  const meter: Meter = {
    count(name, ...labels) {
      const key = [name, ...labels].join(' ')
      counted.set(key, (counted.get(key) ?? 0) + 1)
    },
    observe() {},
    add() {},
  }
  return { meter, counted }
}
