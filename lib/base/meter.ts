import type { CounterName, HistogramName, LabelsOf } from './measures.ts'

/** Counts what happens, for /metrics. It costs little, and where nobody asks, nothing. */
export interface Meter {
  /** One more of these. */
  count<Name extends CounterName>(name: Name, ...labels: LabelsOf<Name>): void
  /** A value of a histogram. */
  observe<Name extends HistogramName>(name: Name, value: number, ...labels: LabelsOf<Name>): void
  /** Takes over what another thread has counted. */
  add(noted: readonly Noted[]): void
}

/** Where metrics are off. */
export const noMeter: Meter = { count() {}, observe() {}, add() {} }

/** What was counted in another thread, on its way to the one that is asked: so many of a counter, or the value of a histogram. */
export type Noted =
  | { readonly count: CounterName; readonly labels: readonly string[]; readonly by: number }
  | { readonly observe: HistogramName; readonly labels: readonly string[]; readonly value: number }

/** How long a thread gathers what it counts, and how much of it at the most. */
const gatherMs = 500
const gatherMost = 2000

/**
 * Counts for a thread that is asked by nobody.
 * @param post brings what was counted over to the one that is, twice a second at the most unless it is much
 */
export function createDistantMeter(post: (noted: readonly Noted[]) => void): Meter {
  let counts = new Map<string, { count: CounterName; labels: readonly string[]; by: number }>()
  let values: Noted[] = []
  let timer: NodeJS.Timeout | undefined

  function send(): void {
    clearTimeout(timer)
    timer = undefined
    const noted = [...counts.values(), ...values]
    counts = new Map()
    values = []
    post(noted)
  }

  function gathered(): void {
    if (counts.size + values.length >= gatherMost) send()
    else timer ??= setTimeout(send, gatherMs).unref()
  }

  return {
    count(name, ...labels) {
      const key = [name, ...labels].join(' ')
      const known = counts.get(key)
      if (known) known.by++
      else counts.set(key, { count: name, labels, by: 1 })
      gathered()
    },
    observe(name, value, ...labels) {
      values.push({ observe: name, labels, value })
      gathered()
    },
    // Nothing counts further in.
    add() {},
  }
}
