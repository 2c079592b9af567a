/** What a reader of the stream chooses events by. */
export interface EventScope {
  readonly type: string
  readonly podId: string | null
  readonly inboxId: string | null
}

/** Who reads the stream of events in this process just now. */
export interface Readers {
  /** Someone who takes the events for which `takes` is true; gives the function that takes the reader away. */
  add(takes: (event: EventScope) => boolean): () => void
  /** Whether anybody would get this event. */
  has(event: EventScope): boolean
}

export function createReaders(): Readers {
  const all = new Set<(event: EventScope) => boolean>()
  return {
    add(takes) {
      // A function of its own, so that one that is added twice is there twice.
      const reader = (event: EventScope) => takes(event)
      all.add(reader)
      return () => all.delete(reader)
    },
    has(event) {
      for (const takes of all) if (takes(event)) return true
      return false
    },
  }
}
