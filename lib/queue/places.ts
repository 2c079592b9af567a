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
interface Taken {
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

function boundsOf(total: number): Bounds {
  const part = (share: number) => Math.max(1, Math.floor(total * share))
  return { total, half: part(0.5), quarter: part(0.25), threeQuarters: part(0.75) }
}

function noneTaken(): Taken {
  return { all: 0, retries: 0, probes: 0, unproven: 0, unprovenRetries: 0, either: 0 }
}

/** Adds one more of a sort, or takes one away. */
function add(taken: Taken, { isRetry, isProbe, isUnproven }: Sort, by: 1 | -1): void {
  taken.all += by
  if (isRetry) taken.retries += by
  if (isProbe) taken.probes += by
  else if (isUnproven) taken.unproven += by
  if (isRetry && isUnproven) taken.unprovenRetries += by
  if (isRetry || isProbe || isUnproven) taken.either += by
}

/** The places that there are, and who has them. */
export class Places {
  readonly bounds: Bounds
  /** Whether more than one pod is here: then each leaves some to the others. */
  isShared = false
  readonly #taken = noneTaken()
  readonly #ofPod = new Map<string, Taken>()

  constructor(total: number) {
    this.bounds = boundsOf(total)
  }

  get taken(): Readonly<Taken> {
    return this.#taken
  }

  get free(): number {
    return this.bounds.total - this.#taken.all
  }

  /** The same for who tries what could be done with them. */
  copy(): Places {
    const copy = new Places(this.bounds.total)
    copy.isShared = this.isShared
    Object.assign(copy.#taken, this.#taken)
    for (const [podId, taken] of this.#ofPod) copy.#ofPod.set(podId, { ...taken })
    return copy
  }

  /** Counts one more of a sort for a pod, or one less. */
  count(podId: string, sort: Sort, by: 1 | -1): void {
    const ofPod = this.#ofPod.get(podId) ?? noneTaken()
    for (const taken of [this.#taken, ofPod]) add(taken, sort, by)
    if (ofPod.all > 0) this.#ofPod.set(podId, ofPod)
    else this.#ofPod.delete(podId)
  }

  /** Whether one more of a sort has a place, whoever's it is. */
  has(sort: Sort): boolean {
    return this.#pools(sort).every(({ most, of }) => of(this.#taken) < most)
  }

  /**
   * Whether it has one when it is of this pod. Where others are, too, a pod may have three times as many as it leaves free:
   * three quarters when it is alone in taking them, and less when others do. So some are free for who comes next, whatever
   * the servers of how many pods are slow in.
   */
  hasFor(podId: string, sort: Sort): boolean {
    if (!this.has(sort)) return false
    const mine = this.#ofPod.get(podId)
    if (!this.isShared || mine === undefined) return true
    return this.#pools(sort).every(({ most, of }) => of(mine) < 3 * (most - of(this.#taken)))
  }

  /** Whether who of this pod has a place of one sort may have one of another: who turns out to be one that may hang needs one of those. */
  mayChange(podId: string, from: Sort, to: Sort): boolean {
    if (from.isUnproven || !to.isUnproven) return true
    this.count(podId, from, -1)
    const may = this.hasFor(podId, to)
    this.count(podId, from, 1)
    return may
  }

  /** Of which a sort takes one: of all, and of each part that it belongs to. */
  #pools({ isRetry, isProbe, isUnproven }: Sort): Pool[] {
    const { total, half, quarter, threeQuarters } = this.bounds
    const mayHang = isProbe || isUnproven
    const pools: Pool[] = [{ most: total, of: taken => taken.all }]
    if (isRetry) pools.push({ most: half, of: taken => taken.retries })
    if (isRetry && isUnproven) pools.push({ most: quarter, of: taken => taken.unprovenRetries })
    if (isProbe) pools.push({ most: quarter, of: taken => taken.probes })
    if (mayHang) pools.push({ most: half, of: taken => taken.probes + taken.unproven })
    if (isRetry || mayHang) pools.push({ most: threeQuarters, of: taken => taken.either })
    return pools
  }
}

interface Pool {
  readonly most: number
  readonly of: (taken: Taken) => number
}

/**
 * One attempt under way, as its courier knows it. Who has said nothing for too long gives up the place when others wait:
 * then `signal` is aborted.
 */
export interface Place {
  readonly signal: AbortSignal
  /** The other side gave a whole reply. */
  heard(): void
  /** From now on the mail may have been taken: to break off could double it. @throws LeaseLost where another may have it by now */
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

export interface FairPlace extends Place {
  /** The destination that the attempt was made at. */
  readonly destination: string
  /** Whether nothing bad is known of it: that it answers again is nothing to note (`Queue.note`) then. */
  readonly isClean: boolean
  /** Whether others had the place before the other side had said anything, which may greet late on purpose. */
  readonly isCutShort: boolean
  /** What the attempt has shown of it; when it fails, before that is recorded. */
  showed(showing: Showing): void
  /** It was taken, and that is only to be recorded: others may have the place. */
  over(): void
  /** It could not be tried, and what waits for it was told to wait (`Queue.postpone`); before that is recorded. */
  passedOver(): void
}

const room = 'address:'

/** The destination at which waits what may begin when there is room at an address. */
export function roomAt(address: string): string {
  return room + address
}

export function isRoomAt(destination: string): boolean {
  return destination.startsWith(room)
}

/** What new mail waits for: any place, one of those for the unproven, or nothing; `repeated`: what was tried before does for the latter. */
export type Awaited = 'anything' | 'unproven' | 'repeated' | 'nothing'

/** Who is to give up a place for silence, because new mail waits for one. */
export interface Pressing {
  /** What it waits for, whoever has it. */
  readonly all: Awaited
  /** What that of a pod waits for which has as many as it may: it is the pod's own that are pressed for it. */
  readonly pods: ReadonlyMap<string, Awaited>
}

/** The same for all, whoever has the places. */
export function pressAll(all: Awaited): Pressing {
  return { all, pods: new Map() }
}

/** How long the other side of an attempt has been silent, and how that can be ended. */
export class Patience {
  readonly #clock: Clock
  readonly #greetingMs: number
  readonly #abort = new AbortController()
  #sinceMs: number
  #hasSpoken = false
  #isCommitted = false

  /** @param greetingMs how long it may say nothing at all while others wait */
  constructor(clock: Clock, greetingMs: number) {
    this.#clock = clock
    this.#greetingMs = greetingMs
    this.#sinceMs = clock.monotonicMs()
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  /** Whether it was ended before the other side had said anything. */
  get isCutShort(): boolean {
    return this.signal.aborted && !this.#hasSpoken
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

  /** Ends the attempt if the other side has been silent for longer than it may be while others wait, and for so long. */
  endIfSilent(atLeastMs = 0): void {
    if (this.#isCommitted || this.#abort.signal.aborted) return
    const mayMs = this.#hasSpoken ? limits.silentAnswerMs : this.#greetingMs
    const silentMs = this.#clock.monotonicMs() - this.#sinceMs
    if (silentMs < Math.max(mayMs, atLeastMs)) return
    const seconds = Math.round(silentMs / 100) / 10
    this.#abort.abort(new Error(`nothing was said for ${seconds} s, and other mail waited`))
  }
}
