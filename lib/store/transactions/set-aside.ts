import { limits } from '../../base/limits.ts'
import type { Held } from '../dialect/held.ts'
import { chainsOf } from './chains.ts'

/** A write that needs what somebody keeps locked. */
export interface Aside {
  readonly held: Held
  /** What it holds. */
  readonly names: readonly string[]
  /** Since when it waits. */
  readonly sinceMs: number
}

/**
 * What is set aside because of a lock, so that nothing else waits for it. Of all that such a transaction held one thing is kept locked, and nobody
 * knows which: who holds any of it is tried in halves of those that met it, and halves of these, until it is known who is alone with it.
 */
export interface SetAside<One extends Aside> {
  readonly size: number
  /** Those of a transaction that met a lock, or one that holds what is suspect. */
  add(together: readonly One[]): void
  /**
   * Which is tried next, together, until `rest` or `remove`: several before one, for most of them need nothing that is locked, and then who waits for
   * longest; a number where none may be tried for so many milliseconds.
   * @param underWay what is held, but for a moment
   */
  next(underWay: ReadonlySet<string>): readonly One[] | number
  /** They were tried in vain: of several each half may be tried. One is not tried for a moment, nor what holds something in common with it. */
  rest(together: readonly One[]): void
  remove(one: One): void
  /** What it held is free: gives those that hold something in common with it, which are set aside no longer. */
  free(one: One): One[]
  /** Whether some of this is held by what is set aside, or was lately. */
  isSuspect(names: readonly string[]): boolean
  /** Those that wait for too long. */
  late(): One[]
}

export function createSetAside<One extends Aside>(monotonicMs: () => number): SetAside<One> {
  /** Those that are tried together, with when they may be. */
  const waiting = new Map<readonly One[], number>()
  const togetherOf = new Map<One, readonly One[]>()
  /** What may be locked, and when it may be tried. */
  const suspects = new Map<string, number>()

  function suspect(names: readonly string[], atMs: number): void {
    // What nobody asked for any more since is forgotten.
    for (const [name, before] of suspects)
      if (atMs - before > limits.postgresLockWaitMs) suspects.delete(name)
    for (const name of names) suspects.set(name, Math.max(atMs, suspects.get(name) ?? 0))
  }

  function put(together: readonly One[], atMs: number): void {
    waiting.set(together, atMs)
    for (const one of together) togetherOf.set(one, together)
  }

  function remove(one: One): void {
    const together = togetherOf.get(one)
    if (!together) return
    togetherOf.delete(one)
    const atMs = waiting.get(together)!
    waiting.delete(together)
    const others = together.filter(other => other !== one)
    if (others.length > 0) put(others, atMs)
  }

  function putHalves(together: readonly One[]): void {
    const atMs = monotonicMs()
    for (const half of halvesOf(together)) put(half, atMs)
  }

  return {
    get size() {
      return togetherOf.size
    },
    add(together) {
      putHalves(together)
      suspect(
        together.flatMap(({ names }) => names),
        monotonicMs(),
      )
    },
    next(underWay) {
      const now = monotonicMs()
      let soonestMs = Infinity
      let first: { readonly together: readonly One[]; readonly rank: number } | undefined
      for (const [together, atMs] of waiting) {
        const names = together.flatMap(one => one.names)
        if (names.some(name => underWay.has(name))) continue
        const dueMs = Math.max(atMs, ...names.map(name => suspects.get(name) ?? 0))
        // Those that rested are behind those that were not tried: many that stay locked would have all turns among them.
        const rank = together.length > 1 ? -Infinity : atMs
        if (dueMs > now) soonestMs = Math.min(soonestMs, dueMs - now)
        else if (!first || rank < first.rank) first = { together, rank }
      }
      return first?.together ?? soonestMs
    },
    rest(together) {
      waiting.delete(together)
      if (together.length > 1) return putHalves(together)
      const atMs = monotonicMs() + limits.postgresLockRestMs
      put(together, atMs)
      suspect(together[0]!.names, atMs)
    },
    remove,
    free(one) {
      const names = new Set(one.names)
      for (const name of names) suspects.delete(name)
      const freed = [...togetherOf.keys()].filter(other => other.names.some(name => names.has(name)))
      for (const other of freed) remove(other)
      return freed
    },
    isSuspect: names => suspects.size > 0 && names.some(name => suspects.has(name)),
    late() {
      const now = monotonicMs()
      return [...togetherOf.keys()].filter(one => now - one.sinceMs >= limits.postgresLockWaitMs)
    },
  }
}

/** Two halves, in which those that hold something in common stay together; of those that all do, each alone. */
function halvesOf<One extends Aside>(together: readonly One[]): (readonly One[])[] {
  const chains = chainsOf(together.map(({ held }) => held))
  if (chains.length === 1) return together.map(one => [one])
  const half = chains.length >> 1
  return [chains.slice(0, half), chains.slice(half)].map(some => some.flat().map(index => together[index]!))
}
