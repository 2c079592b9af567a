import type { WriteDb } from './dialect.ts'

/**
 * What a write has done that others wait for, by the kind of it: `event` was recorded, `revocation` of a key, `queue` has
 * work of a kind, `mail` has come to an inbox, a `certificate` is to be had from a CA, or is not. With each stands what it is about: the kind of work, the inbox.
 */
export const topics = ['event', 'revocation', 'queue', 'mail', 'certificate'] as const
export type Topic = (typeof topics)[number]
export type Notices = Map<Topic, Set<string>>

/** Those of the writes that are under way. */
const underWay = new WeakMap<WriteDb, Notices>()

/** Has the commit of this write tell it. A write that is undone tells nothing. */
export function notice(db: WriteDb, topic: Topic, about = ''): void {
  const notices = underWay.get(db)
  if (!notices) throw new Error('only a write gives notice')
  const known = notices.get(topic)
  if (known) known.add(about)
  else notices.set(topic, new Set([about]))
}

/** Gathers in `notices` what the write that now begins on this handle gives notice of. */
export function gatherNotices(db: WriteDb, notices: Notices): void {
  underWay.set(db, notices)
}

/** Tells what was committed to those who wait for it. */
export interface Listeners {
  /** Calls `listener` with what it is about; gives the function that ends it. */
  on(topic: Topic, listener: (about: ReadonlySet<string>) => void): () => void
  tell(notices: Notices): void
  /** Whether anybody in this process waits for it. */
  has(topic: Topic): boolean
}

export function createListeners(): Listeners {
  const all = new Map<Topic, Set<(about: ReadonlySet<string>) => void>>()
  return {
    on(topic, listener) {
      const own = all.get(topic) ?? new Set()
      all.set(topic, own.add(listener))
      return () => own.delete(listener)
    },
    has: topic => (all.get(topic)?.size ?? 0) > 0,
    tell(notices) {
      for (const [topic, about] of notices) for (const listener of all.get(topic) ?? []) listener(about)
    },
  }
}

/** Adds what another write of the same transaction gave notice of. */
export function addNotices(to: Notices, from: Notices): void {
  for (const [topic, about] of from) to.set(topic, new Set([...(to.get(topic) ?? []), ...about]))
}
