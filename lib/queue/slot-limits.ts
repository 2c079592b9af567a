import { destinationsKnown, Recent } from '../base/concurrency.ts'
import type { Clock } from '../base/time.ts'
import type { Showing } from './destination-health.ts'

/** By how much a destination that has less at once than it may gets more with each attempt that it answers. */
const paceStep = 0.25

/** What one destination may get when nothing is wrong. */
export interface Allowance {
  /** Attempts at one time. */
  readonly concurrency: number
  /** Attempts a minute; 0: no bound. */
  readonly perMinute: number
  /** How many at one time it gets while nothing is known of it, where those are fewer. */
  readonly first?: number
}

interface Pace {
  /** How many at one time it gets now. */
  readonly concurrency: number
  /** How many may begin, as of `atMs`. */
  readonly tokens: number
  readonly atMs: number
}

/**
 * How many attempts each destination gets at once and a minute. It begins with few at once, and each answer adds a
 * part of one, up to its allowance. A destination that asks for less gets half, at least one; one that fails gets no more than at
 * the beginning. In memory, for the destinations that were served last; what is forgotten begins again.
 */
export class SlotLimits {
  readonly #clock: Clock
  readonly #allowanceOf: (name: string) => Allowance
  readonly #paces = new Recent<Pace>(destinationsKnown)
  /** Destinations that have had what they get a minute. */
  readonly #exhausted = new Set<string>()

  constructor(clock: Clock, allowanceOf: (name: string) => Allowance) {
    this.#clock = clock
    this.#allowanceOf = allowanceOf
  }

  /** Returns how many attempts may be under way at a destination now, where so many are. */
  most(name: string, underWay: number): number {
    const { concurrency, tokens } = this.#now(name)
    return Math.min(Math.floor(concurrency), underWay + Math.floor(tokens))
  }

  /** Returns the destinations that have had what they get a minute. */
  exhausted(): readonly string[] {
    for (const name of this.#exhausted) if (this.#now(name).tokens >= 1) this.#exhausted.delete(name)
    return [...this.#exhausted]
  }

  /** @param by 1 when an attempt begins, -1 when it went elsewhere untried */
  began(name: string, by: 1 | -1 = 1): void {
    const now = this.#now(name)
    const tokens = now.tokens - by
    this.#paces.set(name, { ...now, tokens })
    if (tokens < 1) this.#exhausted.add(name)
  }

  showed(name: string, showing: Showing): void {
    const now = this.#now(name)
    const allowance = this.#allowanceOf(name)
    const concurrency = {
      answers: Math.min(allowance.concurrency, now.concurrency + paceStep),
      slows: Math.max(1, now.concurrency / 2),
      fails: Math.min(now.concurrency, firstOf(allowance)),
    }[showing]
    if (concurrency !== now.concurrency) this.#paces.set(name, { ...now, concurrency })
  }

  #now(name: string): Pace {
    const allowance = this.#allowanceOf(name)
    const { perMinute } = allowance
    const atMs = this.#clock.monotonicMs()
    const before = this.#paces.get(name)
    const concurrency = before?.concurrency ?? firstOf(allowance)
    if (perMinute === 0) return { concurrency, tokens: Number.POSITIVE_INFINITY, atMs }
    // Ten seconds' worth may begin at once; no bound is so tight that it would be less than one.
    const most = Math.max(1, perMinute / 6)
    const tokens = before ? before.tokens + ((atMs - before.atMs) * perMinute) / 60_000 : most
    return { concurrency, tokens: Math.min(most, tokens), atMs }
  }
}

function firstOf({ concurrency, first = concurrency }: Allowance): number {
  return Math.min(first, concurrency)
}
