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
