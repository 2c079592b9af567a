import type { Clock } from '../base/clock.ts'
import { limits } from '../base/limits.ts'
import type { Patience, Sort } from './places.ts'
import { NamesKnown } from './standing.ts'

/**
 * An attempt's part of what a destination gets at once. From its turn on it is `coming`: what a tenant chose, the DNS and the
 * policy of a domain, is asked for meanwhile. For so long (`limits.placeKeptMs`) the place is kept; who is `late` has none.
 */
export interface Stay {
  readonly name: string
  readonly podId: string
  readonly sinceMs: number
  state: 'coming' | 'there' | 'late'
}

/** One attempt under way. */
export interface Held {
  sort: Sort
  /** At the destination that it counts for. */
  stay: Stay
  /** The room at an address that it has, or was promised when its turn came (lib/queue/places.ts). */
  room: Stay | undefined
  /** Whether it was the probe of its destination until it was late there. */
  isLateProbe: boolean
  /** Whether no row spoke of it when its turn came. */
  isUnnoted: boolean
  /** Whether it has given its place to others, and only waits for the answer to what it has sent. */
  isLingering: boolean
  /** Whether it has shown anything of its destination, or that nothing is to be found out now. */
  hasShown: boolean
  readonly patience: Patience
}

/** Which pods were last seen at a destination, and when the one that is not the last. */
interface Seen {
  readonly podId: string
  readonly atMs: number
  readonly otherAtMs: number
}

/** How many attempts each destination has, and of each pod. What is remembered beside that is bounded and may be lost. */
export class Stays {
  readonly #clock: Clock
  readonly #all = new Map<string, number>()
  readonly #ofPod = new Map<string, number>()
  /** Destinations with parked entries and no room, and those of them that have room again. */
  readonly #filled = new NamesKnown<true>(limits.destinationsKnown)
  readonly #freed = new Set<string>()
  /** Domains whose mail was parked under their own names before it was known which group they lead to, by the group. */
  readonly #led = new NamesKnown<ReadonlySet<string>>(limits.destinationsKnown)
  readonly #seen = new NamesKnown<Seen>(limits.destinationsKnown)

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get all(): ReadonlyMap<string, number> {
    return this.#all
  }

  /** By `podAt`. */
  get ofPod(): ReadonlyMap<string, number> {
    return this.#ofPod
  }

  at(name: string): number {
    return this.#all.get(name) ?? 0
  }

  come(name: string, podId: string, state: Stay['state'] = 'coming'): Stay {
    const stay: Stay = { name, podId, sinceMs: this.#clock.monotonicMs(), state }
    this.#move(stay, 1)
    this.#see(name, podId)
    return stay
  }

  /** It has no part any more: what waits there for that may begin. */
  leave(stay: Stay): void {
    if (stay.state === 'late') return
    this.goOn(stay)
    // What waits for the group under the name of a domain came before what waits under its own.
    for (const domain of this.#led.get(stay.name) ?? []) this.#free(domain)
    this.#free(stay.name)
  }

  /** A domain has led to a group: what waits for it begins as the group has room. */
  lead(domain: string, group: string): void {
    if (!this.hasLine(domain)) return
    this.#free(domain)
    const before = this.#led.get(group) ?? new Set()
    if (before.has(domain) || before.size >= limits.destinationsLooked) return
    this.#led.note(group, new Set([...before, domain]))
  }

  #free(name: string): void {
    if (this.#filled.get(name) === undefined) return
    this.#filled.forget(name)
    this.#freed.add(name)
  }

  /** It has no part any more, for it is elsewhere: what waits here would most likely go there, too. */
  goOn(stay: Stay): void {
    if (stay.state === 'late') return
    stay.state = 'late'
    this.#move(stay, -1)
  }

  /** Destinations that were full and are not any more. */
  get freed(): ReadonlySet<string> {
    return this.#freed
  }

  /** Whether others wait there for room, so that who comes new is behind them. */
  hasLine(name: string): boolean {
    return this.#filled.get(name) !== undefined || this.#freed.has(name)
  }

  /** Those of `freed` were looked at; these have parked entries and no room. */
  looked({
    looked,
    filled,
  }: {
    readonly looked: readonly string[]
    readonly filled: Iterable<string>
  }): void {
    for (const name of looked) this.#freed.delete(name)
    for (const name of filled) this.#filled.note(name, true)
  }

  /** Whether its place was kept for long enough. What leads to its own domain alone takes nothing from others. */
  isOverdue({ name, sinceMs, state }: Stay): boolean {
    const isShared = name.includes(':') || !name.includes('.')
    return state === 'coming' && isShared && this.#clock.monotonicMs() - sinceMs >= limits.placeKeptMs
  }

  /**
   * Of so many attempts at once that a destination gets, how many one pod may have: where others have sent there lately not the
   * last one, so that they go on whatever all of its attempts are stuck in. Where there is but one, pods take turns alone.
   */
  share(name: string, podId: string, most: number): number {
    const seen = this.#seen.get(name)
    if (most <= 1 || !seen) return most
    const otherAtMs = seen.podId === podId ? seen.otherAtMs : seen.atMs
    return this.#clock.monotonicMs() - otherAtMs < limits.podSeenMs ? most - 1 : most
  }

  #see(name: string, podId: string): void {
    const before = this.#seen.get(name)
    const atMs = this.#clock.monotonicMs()
    const otherAtMs = before?.podId === podId ? before.otherAtMs : (before?.atMs ?? Number.NEGATIVE_INFINITY)
    this.#seen.note(name, { podId, atMs, otherAtMs })
  }

  #move({ name, podId }: Stay, by: 1 | -1): void {
    add(this.#all, name, by)
    add(this.#ofPod, podAt(name, podId), by)
  }
}

/**
 * Who has a part of a destination and no room at an address yet, of this pod or of all. Such a one may have to wait for what another
 * was promised there, who waits for a part here: if neither gave way both would be given back, again and again.
 */
export function roomless(
  held: Iterable<Pick<Held, 'sort' | 'stay' | 'room'>>,
  name: string,
  podId?: string,
): Stay | undefined {
  for (const { stay, room, sort } of held) {
    if (stay.name !== name || stay.state === 'late' || room !== undefined || sort.isProbe) continue
    if (podId === undefined || stay.podId === podId) return stay
  }
  return undefined
}

/** A pod at a destination. */
export function podAt(name: string, podId: string): string {
  return `${podId} ${name}`
}

function add(counts: Map<string, number>, key: string, by: number): void {
  const now = (counts.get(key) ?? 0) + by
  if (now > 0) counts.set(key, now)
  else counts.delete(key)
}
