/** How often a node renews its lease, and looks whether its lock is there. */
export const nodeBeatMs = 2_000
/** How long a node relies on its lease after it began to renew it. */
export const nodeSureMs = 10_000
/** How far the clock of a node may be from that of the database's server, by which all nodes are held. */
export const nodeClockMs = 60_000

/** Time comes in through App, so that a test can hold it still. This file is the one place that reads it. */
export interface Clock {
  now(): Date
  /** Milliseconds that only ever go forward, for durations. */
  monotonicMs(): number
}

export const systemClock: Clock = {
  now: () => new Date(),
  monotonicMs: () => performance.now(),
}

/** The instant `ms` milliseconds after `from`, in the form that rows and answers carry: ISO 8601, milliseconds, `Z`. */
export function isoAfter(from: Date, ms: number): string {
  return new Date(from.getTime() + ms).toISOString()
}

/** A moment by the time that only goes forward, and by that of day, which goes on in a machine that was suspended. */
export interface Moment {
  readonly monotonicMs: number
  readonly dayMs: number
}

export function momentOf(clock: Clock): Moment {
  return { monotonicMs: clock.monotonicMs(), dayMs: clock.now().getTime() }
}

/** How far the time of day was moved since then beside the one that only goes forward. */
export function stepSince(clock: Clock, { monotonicMs, dayMs }: Moment): number {
  const now = momentOf(clock)
  return now.dayMs - dayMs - (now.monotonicMs - monotonicMs)
}

/** How long ago a moment is at the most. */
export function msSince(clock: Clock, { monotonicMs, dayMs }: Moment): number {
  const now = momentOf(clock)
  return Math.max(now.monotonicMs - monotonicMs, now.dayMs - dayMs)
}

/**
 * How far the clock of another machine is ahead of ours, at the least: it was read while the answer was on its way.
 * @param askedMs when it was asked, by the time that only goes forward
 * @param theirMs what it showed
 */
export function aheadMs(clock: Clock, askedMs: number, theirMs: number): number {
  const { monotonicMs, dayMs } = momentOf(clock)
  const earliest = dayMs - (monotonicMs - askedMs)
  return theirMs > dayMs ? theirMs - dayMs : Math.min(theirMs - earliest, 0)
}

const form = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d))?$/

/**
 * An instant (RFC 3339 §5.6; seconds may be left out), or a date as its midnight in UTC, in the form that rows carry and
 * compare by: ISO 8601 with milliseconds and `Z`. Undefined for anything else.
 */
export function readInstant(text: string): string | undefined {
  const ms = form.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString()
}

/** How much of that is left to peers and clients in the middle of something, and to what is carried. */
export const stopPeersMs = 3_000
/** How often the time limits of requests are looked at. */
export const requestsWatchMs = 1_000

/** What the work comes to, or `instead` when it takes longer than that; the work itself goes on, and nobody hears of it any more. */
export async function inTime<T>(work: Promise<T>, ms: number, instead: () => T): Promise<T> {
  const { promise: late, resolve } = Promise.withResolvers<T>()
  const timer = setTimeout(() => resolve(instead()), ms)
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
