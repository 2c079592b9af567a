import type { Clock } from '../base/clock.ts'
import { limits } from '../base/limits.ts'
import { NamesKnown } from './standing.ts'

/** What one destination may get when nothing is wrong. */
export interface Allowance {
  /** Attempts at one time. */
  readonly concurrency: number
  /** Attempts a minute; 0: no bound. */
  readonly perMinute: number
  /** How many at one time it gets while nothing is known of it, where those are fewer. */
  readonly first?: number
}

interface Pacing {
  /** How many at one time it gets now: fewer once it asked for that. */
  readonly concurrency: number
  /** How many may begin, as of `atMs`. */
  readonly tokens: number
  readonly atMs: number
}

/**
 * How fast each destination is served. It begins with few attempts at once, and each that it answers brings a step more, up to its
 * allowance. Each time it says that this is too much it gets half as much, one at the least; when it fails no more than at the
 * beginning. In memory: at most `limits.destinationsKnown`, those that were served last; what is forgotten begins anew.
 */
export class Pace {
  readonly #clock: Clock
  readonly #allowanceOf: (name: string) => Allowance
  readonly #pacings = new NamesKnown<Pacing>(limits.destinationsKnown)

  constructor(clock: Clock, allowanceOf: (name: string) => Allowance) {
    this.#clock = clock
    this.#allowanceOf = allowanceOf
  }

  /** How many attempts may be under way at a destination now, where so many are. */
  most(name: string, underWay: number): number {
    const { concurrency, tokens } = this.#now(name)
    return Math.min(Math.floor(concurrency), underWay + Math.floor(tokens))
  }

  began(name: string): void {
    const now = this.#now(name)
    this.#pacings.note(name, { ...now, tokens: now.tokens - 1 })
  }

  /** What began there went elsewhere, or nowhere for now. */
  returned(name: string): void {
    const now = this.#now(name)
    this.#pacings.note(name, { ...now, tokens: now.tokens + 1 })
  }

  /** How many attempts at one time it gets now. */
  concurrency(name: string): number {
    return Math.floor(this.#now(name).concurrency)
  }

  /** It gets what its allowance is by now. */
  forget(name: string): void {
    this.#pacings.forget(name)
  }

  slowDown(name: string): void {
    const now = this.#now(name)
    this.#pacings.note(name, { ...now, concurrency: Math.max(1, now.concurrency / 2) })
  }

  failed(name: string): void {
    const now = this.#now(name)
    const first = firstOf(this.#allowanceOf(name))
    if (now.concurrency > first) this.#pacings.note(name, { ...now, concurrency: first })
  }

  answered(name: string): void {
    const now = this.#now(name)
    const { concurrency } = this.#allowanceOf(name)
    if (now.concurrency >= concurrency) return
    this.#pacings.note(name, {
      ...now,
      concurrency: Math.min(concurrency, now.concurrency + limits.paceStep),
    })
  }

  #now(name: string): Pacing {
    const allowance = this.#allowanceOf(name)
    const { perMinute } = allowance
    const concurrency = firstOf(allowance)
    const atMs = this.#clock.monotonicMs()
    const before = this.#pacings.get(name)
    if (perMinute === 0)
      return { concurrency: before?.concurrency ?? concurrency, tokens: Number.POSITIVE_INFINITY, atMs }
    // Ten seconds' worth may begin at once; no bound is so tight that it would be less than one.
    const most = Math.max(1, perMinute / 6)
    if (!before) return { concurrency, tokens: most, atMs }
    const tokens = Math.min(most, before.tokens + ((atMs - before.atMs) * perMinute) / 60_000)
    return { concurrency: before.concurrency, tokens, atMs }
  }
}

function firstOf({ concurrency, first = concurrency }: Allowance): number {
  return Math.min(first, concurrency)
}
