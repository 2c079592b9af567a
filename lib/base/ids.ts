import { randomFillSync } from 'node:crypto'
import { v7 } from 'uuid'
import type { Clock } from './time.ts'

/** Makes ids. They come in through App, so that a test can foretell them. */
export interface Ids {
  /** A UUID version 7 (RFC 9562 §5.7): ordered by time, and within one millisecond by a counter. */
  next(): string
}

/** What one id takes of chance, and how much is drawn at once: to draw it costs more than to make an id of it. */
const chanceBytes = 16
const drawnBytes = 256 * chanceBytes
/** The counter has 32 bits and begins in the lower half, so that it does not run out within a millisecond. */
const firstCounts = 2 ** 31

/**
 * The counter within a millisecond is kept here, since `v7` keeps it only when it draws its own chance.
 * @param mostAheadMs how far behind the last id the clock may be set, and the ids go on after that one. One of several nodes goes by the
 * clock beyond that: what it made while its clock was wrong was not taken, and the others' ids would be before its own for as long
 */
export function createIds(clock: Pick<Clock, 'now'>, mostAheadMs = Number.POSITIVE_INFINITY): Ids {
  const drawn = Buffer.alloc(drawnBytes)
  let at = drawnBytes
  let msecs = 0
  let seq = 0

  return {
    next() {
      if (at === drawnBytes) {
        randomFillSync(drawn)
        at = 0
      }
      const random = drawn.subarray(at, at + chanceBytes)
      at += chanceBytes
      const now = clock.now().getTime()
      // A clock that is set back does not bring earlier ids.
      if (now > msecs || msecs - now > mostAheadMs) {
        msecs = now
        seq = random.readUInt32BE(0) % firstCounts
      } else if (++seq === 2 * firstCounts) {
        msecs++
        seq = 0
      }
      return v7({ random, msecs, seq })
    },
  }
}

/** The id that follows `id` directly in the order of ids. */
export function idAfter(id: string): string {
  const hex = id.replaceAll('-', '')
  // The last 62 bits count up; they never run out, because v7 fills them with chance and leaves room.
  const next = (BigInt(`0x${hex}`) + 1n).toString(16).padStart(32, '0')
  return next.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

/** What is before each id that was made at this instant or later, in the order of ids (RFC 9562 §5.7). */
export function firstIdAt(instant: string): string {
  const hex = Math.max(0, Date.parse(instant)).toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-`
}

const uuidForm = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** Whether `text` has the form of a UUID; what has not can't be the id of anything (and is answered 404, never 500). */
export function isId(text: string): boolean {
  return uuidForm.test(text)
}

/**
 * A part of the account, from the whole (both null) over a pod (inboxId null) to one inbox of that pod: what a key reaches,
 * where rules are set, whose messages are looked through, whom an event is about.
 */
export interface Scope {
  readonly podId: string | null
  readonly inboxId: string | null
}

/** What a message is; the model says it to clients, and settings name it. */
export const categories = ['personal', 'automated', 'marketing', 'bounce', 'spam', 'malicious'] as const
