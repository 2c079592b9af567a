import { isoAfter } from '../base/time.ts'

/** How long an attempt waits that a crash or a stop cut off for the second time or more. */
export const cutOffWaitMs = 60_000

const minute = 60_000
const mailWaits = [1, 5, 15, 30, 60, 120, 240, 480].map(minutes => minutes * minute)

/** Within which a wait is to be, before its jitter; the greater of the two bounds wins. */
export interface WaitBounds {
  readonly atLeastMs?: number
  readonly atMostMs?: number
}

/**
 * How long after attempt number `attempts` (the first is 1) the next one is due, by a schedule of waits in milliseconds
 * whose last one is repeated; that of mail is 1, 5, 15 and 30 minutes, 1, 2, 4 and 8 hours (RFC 5321 §4.5.4.1). Up to
 * 10 % less or more as `jitter` in [0, 1) says.
 */
export function nextAttemptAfterMs(
  attempts: number,
  jitter: number,
  waits: readonly number[] = mailWaits,
  { atLeastMs = 0, atMostMs = Number.POSITIVE_INFINITY }: WaitBounds = {},
): number {
  const index = Math.min(Math.max(attempts, 1), waits.length) - 1
  const wait = Math.max(Math.min(waits[index] ?? 0, atMostMs), atLeastMs)
  return Math.round(wait * (0.9 + 0.2 * jitter))
}

/**
 * When what waits for so long is due again: at the end of its time at the latest, for then it is given up. Where that came during its
 * attempt it waits a little, as what could not be ended for a fault of ours must not be claimed again and again.
 */
export function dueAgainAt(
  { expiresAt }: { readonly expiresAt: string },
  now: Date,
  afterMs: number,
): string {
  if (expiresAt <= now.toISOString()) return isoAfter(now, Math.min(afterMs, cutOffWaitMs))
  const dueAt = isoAfter(now, afterMs)
  return dueAt > expiresAt ? expiresAt : dueAt
}
