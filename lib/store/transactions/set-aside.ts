import { limits } from '../../base/limits.ts'
import type { Held } from '../dialect/held.ts'
import { namesOf } from './chains.ts'

/** A write that needs what somebody keeps locked. */
export interface Aside {
  readonly held: Held
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
  /** Who waits for his try for longest of those that may be tried now, until `rest` or `remove`; a number where none may for so many milliseconds. */
  next(): One | number
  /** It was tried in vain: neither it is tried for a moment, nor what holds something in common with it. */
  rest(one: One): void
  remove(one: One): void
  /** What it held is free: gives those that hold something in common with it and are not being tried, which are set aside no longer. */
  free(one: One): One[]
  /** Whether some of this is held by what is set aside, or was lately. */
  isSuspect(held: Held): boolean
  /** Those that wait for too long. */
  late(): One[]
}

export function createSetAside<One extends Aside>(monotonicMs: () => number): SetAside<One> {
  /** With what each holds, and when it may be tried. */
  const waiting = new Map<One, { readonly names: readonly string[]; atMs: number }>()
  /** What may be locked, and when it may be tried. */
  const suspects = new Map<string, number>()
  let tried: One | undefined

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
      const names = namesOf(one.held)
      const atMs = monotonicMs()
      waiting.set(one, { names, atMs })
      suspect(names, atMs)
    },
    next() {
      const now = monotonicMs()
      let soonestMs = Infinity
      let first: { readonly one: One; readonly atMs: number } | undefined
      for (const [one, { names, atMs }] of waiting) {
        const dueMs = Math.max(atMs, ...names.map(name => suspects.get(name) ?? 0))
        if (dueMs > now) soonestMs = Math.min(soonestMs, dueMs - now)
        // Those that rested are behind those that were not tried: many that stay locked would have all turns among them.
        else if (!first || atMs < first.atMs) first = { one, atMs }
      }
      tried = first?.one
      return tried ?? soonestMs
    },
    rest(one) {
      tried = undefined
      const known = waiting.get(one)!
      known.atMs = monotonicMs() + limits.postgresLockRestMs
      suspect(known.names, known.atMs)
    },
    remove: one => void waiting.delete(one),
    free(one) {
      const names = new Set(namesOf(one.held))
      for (const name of names) suspects.delete(name)
      // What is being tried comes to its end there, or it would be done twice.
      const freed = [...waiting].filter(([other, own]) => {
        return other !== tried && own.names.some(name => names.has(name))
      })
      return freed.map(([other]) => {
        waiting.delete(other)
        return other
      })
    },
    isSuspect: held => suspects.size > 0 && namesOf(held).some(name => suspects.has(name)),
    late() {
      const now = monotonicMs()
      return [...waiting.keys()].filter(one => now - one.sinceMs >= limits.postgresLockWaitMs)
    },
  }
}
