import { answerBytes } from '../../base/network.ts'
import type { Clock } from '../../base/time.ts'

/**
 * Answers of DNS that are kept for the next message, of the main thread and of each thread of sessions: their bytes, where each counts
 * so many more than its text, and how long: those that say something, and those that say none.
 */
export const dnsKeptBytes = 4 * 1024 * 1024
export const dnsEntryBytes = 512
export const dnsPositiveMs = 60_000
export const dnsNegativeMs = 30_000
/** Mail is refused by what DNS says now; for so long by what it said to the last one that was. */
export const dnsFreshMs = 1_000

/** The records, or the code of the error that says why there are none. */
export type Answer = { readonly records: readonly unknown[] } | { readonly none: string }

export interface AnswerMemory {
  /** @param isFresh whether it must have been asked for as one, and dnsFreshMs ago at the most */
  find(key: string, isFresh: boolean): Answer | undefined
  /** @param isFresh whether nobody on the way to it remembered it */
  keep(key: string, answer: Answer, isFresh: boolean): void
  /** Forgets what is over; whether anything is left. */
  dropOld(): boolean
}

/**
 * Answers of DNS for as long as they are believed, up to dnsKeptBytes: strangers choose how many names are asked for and how
 * long the answers are. The oldest make room, and what is over goes without being asked for.
 */
export function createAnswerMemory(clock: Clock): AnswerMemory {
  const kept = new Map<
    string,
    {
      readonly answer: Answer
      readonly bytes: number
      readonly untilMs: number
      readonly freshUntilMs: number
    }
  >()
  let total = 0
  let isWatched = false

  function drop(key: string): void {
    total -= kept.get(key)?.bytes ?? 0
    kept.delete(key)
  }

  const memory: AnswerMemory = {
    find(key, isFresh) {
      const known = kept.get(key)
      const nowMs = clock.monotonicMs()
      if (known && (isFresh ? known.freshUntilMs : known.untilMs) > nowMs) return known.answer
      // Who asks without that goes on with what is there until a fresh one has come.
      if (!isFresh) drop(key)
      return undefined
    },
    keep(key, answer, isFresh) {
      const isNone = 'none' in answer
      const bytes = dnsEntryBytes + key.length + (isNone ? 0 : answerBytes(answer.records))
      const nowMs = clock.monotonicMs()
      drop(key)
      kept.set(key, {
        answer,
        bytes,
        untilMs: nowMs + (isNone ? dnsNegativeMs : dnsPositiveMs),
        freshUntilMs: isFresh ? nowMs + dnsFreshMs : 0,
      })
      total += bytes
      for (const oldest of kept.keys()) {
        if (total <= dnsKeptBytes) break
        drop(oldest)
      }
      if (!isWatched) dropLater(new WeakRef(memory))
      isWatched = true
    },
    dropOld() {
      const nowMs = clock.monotonicMs()
      for (const [key, { untilMs }] of kept) if (untilMs <= nowMs) drop(key)
      isWatched = kept.size > 0
      return isWatched
    },
  }
  return memory
}

/** Until nothing is kept. A memory that nobody has any more, as that of one check of a domain, is not held by this. */
function dropLater(memory: WeakRef<AnswerMemory>): void {
  const timer = setTimeout(() => {
    if (memory.deref()?.dropOld()) dropLater(memory)
  }, dnsNegativeMs)
  timer.unref()
}
