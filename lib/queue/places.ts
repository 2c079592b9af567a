import type { Clock } from '../base/clock.ts'
import { limits } from '../base/limits.ts'
import type { Showing } from './standing.ts'

/** What an attempt is, for the places that it may take. */
export interface Sort {
  /** It was tried before: new mail must not be behind it. */
  readonly isRetry: boolean
  /** Its destination failed again and again, and this is the one attempt that it gets. */
  readonly isProbe: boolean
  /** Its destination has not answered lately, as far as this process has seen. */
  readonly isUnproven: boolean
}

/** How many of each sort are under way. */
export interface Taken {
  all: number
  retries: number
  probes: number
  unproven: number
  /** Of both sorts at once: repeated, and unproven. */
  unprovenRetries: number
  /** Of those two sorts together: retries, and what may hang. */
  either: number
}

/**
 * Which places may be taken, of `total`: half of them by retries (a quarter by those that may hang, so that the others are not
 * behind them), half by destinations that may hang (a quarter by probes), three quarters by these together. The last quarter is for new mail to destinations that answer.
 */
export interface Bounds {
  readonly total: number
  readonly half: number
  readonly quarter: number
  readonly threeQuarters: number
}

export function boundsOf(total: number): Bounds {
  const part = (share: number) => Math.max(1, Math.floor(total * share))
  return { total, half: part(0.5), quarter: part(0.25), threeQuarters: part(0.75) }
}

/** Whether one more of a sort has a place. */
export function hasPlace(taken: Taken, bounds: Bounds, sort: Sort): boolean {
  if (taken.all >= bounds.total) return false
  const mayHang = sort.isProbe || sort.isUnproven
  if (sort.isRetry && taken.retries >= bounds.half) return false
  if (sort.isRetry && sort.isUnproven && taken.unprovenRetries >= bounds.quarter) return false
  if (sort.isProbe && taken.probes >= bounds.quarter) return false
  if (mayHang && taken.probes + taken.unproven >= bounds.half) return false
  return !(sort.isRetry || mayHang) || taken.either < bounds.threeQuarters
}

export function noneTaken(): Taken {
  return { all: 0, retries: 0, probes: 0, unproven: 0, unprovenRetries: 0, either: 0 }
}

/** Counts one more of a sort, or one less. */
export function count(taken: Taken, { isRetry, isProbe, isUnproven }: Sort, by: 1 | -1): void {
  taken.all += by
  if (isRetry) taken.retries += by
  if (isProbe) taken.probes += by
  else if (isUnproven) taken.unproven += by
  if (isRetry && isUnproven) taken.unprovenRetries += by
  if (isRetry || isProbe || isUnproven) taken.either += by
}

/**
 * One attempt under way, as its courier knows it. Who has said nothing for too long gives up the place when others wait:
 * then `signal` is aborted.
 */
export interface Place {
  readonly signal: AbortSignal
  /** The other side gave a whole reply. */
  heard(): void
  /** From now on the mail may have been taken: to break off could double it. */
  commit(): void
  /**
   * Mail for `domain` turned out to go to this destination: a group of mail servers, or the domain itself.
   * @returns whether it may have this attempt now; else the entry must be given back
   */
  isTurnOf(destination: string, domain: string): Promise<boolean>
  /**
   * Whether this attempt may connect to the address, which no more than one destination's share do at once, whatever names lead
   * there. It counts there until it says that it is `gone`; else it may wait for room there (`roomAt`).
   */
  hasRoomAt(address: string): boolean
  /**
   * What this attempt had with the address is over; what it has shown of it, whatever others show that are tried after it.
   * @param isLost whether it greeted us and then fell silent or hung up: why is not known, so it is nothing against the servers,
   * but what comes next may hang there as well
   */
  gone(address: string, showing: Showing | undefined, isLost: boolean): void
}

const room = 'address:'

/** The destination at which waits what may begin when there is room at an address. */
export function roomAt(address: string): string {
  return room + address
}

export function isRoomAt(destination: string): boolean {
  return destination.startsWith(room)
}

/** How long the other side of an attempt has been silent, and how that can be ended. */
export class Patience {
  readonly #clock: Clock
  readonly #abort = new AbortController()
  #sinceMs: number
  #hasSpoken = false
  #isCommitted = false

  constructor(clock: Clock) {
    this.#clock = clock
    this.#sinceMs = clock.monotonicMs()
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  heard(): void {
    this.#hasSpoken = true
    this.#sinceMs = this.#clock.monotonicMs()
  }

  commit(): void {
    this.#isCommitted = true
    this.#sinceMs = this.#clock.monotonicMs()
  }

  /** Whether the other side has the mail, may have taken it, and has said nothing for long: it can only be waited for. */
  isLingering(): boolean {
    return this.#isCommitted && this.#clock.monotonicMs() - this.#sinceMs >= limits.silentAnswerMs
  }

  /** Ends the attempt if the other side has been silent for longer than it may be while others wait. */
  endIfSilent(): void {
    if (this.#isCommitted || this.#abort.signal.aborted) return
    const mayMs = this.#hasSpoken ? limits.silentAnswerMs : limits.silentGreetingMs
    const silentMs = this.#clock.monotonicMs() - this.#sinceMs
    if (silentMs < mayMs) return
    const seconds = Math.round(silentMs / 100) / 10
    this.#abort.abort(new Error(`nothing was said for ${seconds} s, and other mail waited`))
  }
}
