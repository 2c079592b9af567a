import type { Store } from '../../store/open.ts'

/** Rings after a commit that changed what others wait for, so that they do not have to look all the time. */
export interface Bell {
  /** An event stands in the write that is under way. */
  recorded(): void
  /** Calls `listener` at every ring; gives the function that ends it. What other processes record is not rung for. */
  onRing(listener: () => void): () => void
}

export function createBell(store: Pick<Store, 'onCommit'>): Bell {
  const listeners = new Set<() => void>()
  let isRecorded = false
  store.onCommit(() => {
    if (!isRecorded) return
    isRecorded = false
    for (const listener of listeners) listener()
  })
  return {
    recorded() {
      isRecorded = true
    },
    onRing(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}
