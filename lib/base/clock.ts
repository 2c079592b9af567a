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
