import { destinationsKnown } from '../../base/concurrency.ts'
import type { Clock } from '../../base/time.ts'
import { addressProbeMs, type Ending } from './ending.ts'

/** How often in a row an address has not answered when one connection at a time is tried there, and how long the one is waited for. */
export const destinationFailures = 3
export const probeOverMs = 1_800_000
/** The longest time until it is tried again. */
export const addressProbeMaxMs = 120_000

interface Failing {
  readonly failures: number
  /** Whether somebody is finding out. */
  readonly isProbed: boolean
  readonly probeAtMs: number
  readonly failedAtMs: number
}

/**
 * Which addresses have not answered again and again, as far as this process has seen: of these one connection at a time is
 * tried, ever less often, whatever domains and hosts lead there. At most `destinationsKnown` of them, those that
 * failed last; what is forgotten is tried.
 */
export class AddressStanding {
  readonly #clock: Clock
  readonly #failing = new Map<string, Failing>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Whether the address may be connected to now, or in how many milliseconds. Of those that fail, this one is the probe then. */
  mayTry(address: string): true | { readonly inMs: number } {
    const before = this.#failing.get(address)
    if (before === undefined || before.failures < destinationFailures) return true
    const nowMs = this.#clock.monotonicMs()
    // How the probe ends is known long before it is surely over.
    if (nowMs < before.probeAtMs) return { inMs: before.isProbed ? addressProbeMs : before.probeAtMs - nowMs }
    this.#put(address, { ...before, isProbed: true, probeAtMs: nowMs + probeOverMs })
    return true
  }

  /** Has it connected to, and notes whether it answered. @param signal by which it may be cut off */
  async watch(address: string, signal: AbortSignal, attempt: () => Promise<Ending>): Promise<Ending> {
    const startedMs = this.#clock.monotonicMs()
    let shown: 'answers' | 'fails' | 'nothing' = 'nothing'
    try {
      const ending = await attempt()
      const { showing, code } = ending.outcome
      // Who was cut off had less time than is due, and who else sends mail decides how much less. Who takes no mail answers, too,
      // and costs no time.
      if (showing !== undefined && !signal.aborted)
        shown = showing === 'fails' && code === undefined ? 'fails' : 'answers'
      return ending
    } finally {
      this.#note(address, shown, startedMs)
    }
  }

  /** `nothing`: it had no time to answer, and another is to find out. */
  #note(address: string, shown: 'answers' | 'fails' | 'nothing', startedMs: number): void {
    const before = this.#failing.get(address)
    if (shown === 'answers') {
      this.#failing.delete(address)
      return
    }
    const nowMs = this.#clock.monotonicMs()
    if (shown === 'nothing') {
      if (before?.isProbed) this.#put(address, { ...before, isProbed: false, probeAtMs: nowMs })
      return
    }
    // Attempts that fail together are one failure.
    if (before !== undefined && before.failedAtMs > startedMs) return
    const failures = (before?.failures ?? 0) + 1
    const doublings = Math.max(0, failures - destinationFailures)
    const waitMs = Math.min(addressProbeMs * 2 ** Math.min(doublings, 20), addressProbeMaxMs)
    this.#put(address, { failures, isProbed: false, probeAtMs: nowMs + waitMs, failedAtMs: nowMs })
  }

  #put(address: string, failing: Failing): void {
    this.#failing.delete(address)
    this.#failing.set(address, failing)
    if (this.#failing.size > destinationsKnown) this.#failing.delete(this.#failing.keys().next().value!)
  }
}
