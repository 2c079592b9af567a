import type { Store } from '../../store/open.ts'

/** Someone who waits for mail in one inbox. */
export interface Watch {
  /** Resolves when mail has come since the last call, or after `ms`. */
  next(ms: number): Promise<void>
  end(): void
}

/** Who waits for mail in this process; told after the commit of what has come. What other processes receive is not told. */
export interface Waiters {
  /** `signal`, too, makes `next` resolve. */
  watch(inboxId: string, signal: AbortSignal): Watch
  /** How many wait. */
  count(): number
}

export function createWaiters(store: Pick<Store, 'onCommit'>): Waiters {
  const bells = new Map<string, Set<() => void>>()
  let count = 0
  store.onCommit('mail', inboxIds => {
    for (const id of inboxIds) for (const ring of bells.get(id) ?? []) ring()
  })
  return {
    watch(inboxId, signal) {
      let hasRung = false
      let wake: (() => void) | undefined
      const ring = () => {
        hasRung = true
        wake?.()
      }
      const own = bells.get(inboxId) ?? new Set()
      bells.set(inboxId, own.add(ring))
      count++
      signal.addEventListener('abort', ring)
      return {
        async next(ms) {
          if (!hasRung) {
            const { promise, resolve } = Promise.withResolvers<void>()
            const timer = setTimeout(resolve, ms)
            wake = resolve
            await promise
            clearTimeout(timer)
          }
          hasRung = false
          wake = undefined
        },
        end() {
          signal.removeEventListener('abort', ring)
          own.delete(ring)
          if (own.size === 0) bells.delete(inboxId)
          count--
        },
      }
    },
    count: () => count,
  }
}
