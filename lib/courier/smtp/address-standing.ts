import type { Clock } from '../../base/clock.ts'
import { limits } from '../../base/limits.ts'

interface Failing {
  readonly failures: number
  readonly probeAtMs: number
}

/**
 * Which addresses have not answered again and again, as far as this process has seen: of these one connection at a time is
 * tried, ever less often, whatever domains and hosts lead there. At most `limits.destinationsKnown` of them, those that
 * failed last; what is forgotten is tried.
 */
export class AddressStanding {
  readonly #clock: Clock
  readonly #failing = new Map<string, Failing>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Whether the address may be connected to now. Of those that fail, this one is the probe then. */
  mayTry(address: string): boolean {
    const before = this.#failing.get(address)
    if (before === undefined || before.failures < limits.destinationFailures) return true
    const nowMs = this.#clock.monotonicMs()
    if (nowMs < before.probeAtMs) return false
    this.#put(address, { ...before, probeAtMs: nowMs + limits.probeMaxMs })
    return true
  }

  /** Notes whether the address answered when it was connected to. */
  note(address: string, isAnswering: boolean): void {
    if (isAnswering) {
      this.#failing.delete(address)
      return
    }
    const failures = (this.#failing.get(address)?.failures ?? 0) + 1
    const doublings = Math.max(0, failures - limits.destinationFailures)
    const waitMs = Math.min(limits.addressProbeMs * 2 ** Math.min(doublings, 20), limits.probeMaxMs)
    this.#put(address, { failures, probeAtMs: this.#clock.monotonicMs() + waitMs })
  }

  #put(address: string, failing: Failing): void {
    this.#failing.delete(address)
    this.#failing.set(address, failing)
    if (this.#failing.size > limits.destinationsKnown)
      this.#failing.delete(this.#failing.keys().next().value!)
  }
}
