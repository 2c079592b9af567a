import { limits } from '../../base/limits.ts'

/** A write that needs what somebody keeps locked. */
export interface Aside {
  /** What it holds. */
  readonly names: readonly string[]
  /** Since when it waits. */
  readonly sinceMs: number
}

/**
 * What is set aside because of a lock, so that nothing else waits for it. Of all that such a transaction held one thing is kept locked, and nobody
 * knows which: who holds any of it is tried alone before he comes to the others again.
 */
export interface SetAside<One extends Aside> {
  readonly size: number
  add(one: One): void
  /**
   * Who waits for his try for longest of those that may be tried now; a number where none may for so many milliseconds.
   * @param underWay what is held, but for a moment
   */
  next(underWay: ReadonlySet<string>): One | number
  /** It was tried in vain: neither it is tried for a moment, nor what holds something in common with it. */
  rest(one: One): void
  remove(one: One): void
  /** What it held is free: gives those that hold something in common with it, which are set aside no longer. */
  free(one: One): One[]
  /** Whether some of this is held by what is set aside, or was lately. */
  isSuspect(names: readonly string[]): boolean
  /** Those that wait for too long. */
  late(): One[]
}

export function createSetAside<One extends Aside>(monotonicMs: () => number): SetAside<One> {
  /** With when each may be tried. */
  const waiting = new Map<One, number>()
  /** What may be locked, and when it may be tried. */
  const suspects = new Map<string, number>()

  function suspect(names: readonly string[], atMs: number): void {
    // What nobody asked for any more since is forgotten.
    for (const [name, before] of suspects)
      if (atMs - before > limits.postgresLockWaitMs) suspects.delete(name)
    for (const name of names) suspects.set(name, Math.max(atMs, suspects.get(name) ?? 0))
  }

  return {
    get size() {
      return waiting.size
    },
    add(one) {
      const atMs = monotonicMs()
      waiting.set(one, atMs)
      suspect(one.names, atMs)
    },
    next(underWay) {
      const now = monotonicMs()
      let soonestMs = Infinity
      let first: { readonly one: One; readonly atMs: number } | undefined
      for (const [one, atMs] of waiting) {
        const { names } = one
        if (names.some(name => underWay.has(name))) continue
        const dueMs = Math.max(atMs, ...names.map(name => suspects.get(name) ?? 0))
        if (dueMs > now) soonestMs = Math.min(soonestMs, dueMs - now)
        // Those that rested are behind those that were not tried: many that stay locked would have all turns among them.
        else if (!first || atMs < first.atMs) first = { one, atMs }
      }
      return first?.one ?? soonestMs
    },
    rest(one) {
      const atMs = monotonicMs() + limits.postgresLockRestMs
      waiting.set(one, atMs)
      suspect(one.names, atMs)
    },
    remove: one => void waiting.delete(one),
    free(one) {
      const names = new Set(one.names)
      for (const name of names) suspects.delete(name)
      const freed = [...waiting.keys()].filter(other => other.names.some(name => names.has(name)))
      for (const other of freed) waiting.delete(other)
      return freed
    },
    isSuspect: names => suspects.size > 0 && names.some(name => suspects.has(name)),
    late() {
      const now = monotonicMs()
      return [...waiting.keys()].filter(one => now - one.sinceMs >= limits.postgresLockWaitMs)
    },
  }
}
