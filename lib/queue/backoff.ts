const minute = 60_000
const mailWaits = [1, 5, 15, 30, 60, 120, 240, 480].map(minutes => minutes * minute)

/**
 * How long after attempt number `attempts` (the first is 1) the next one is due, by a schedule of waits in milliseconds
 * whose last one is repeated; that of mail is 1, 5, 15 and 30 minutes, 1, 2, 4 and 8 hours (RFC 5321 §4.5.4.1). Up to
 * 10 % less or more as `jitter` in [0, 1) says.
 */
export function nextAttemptAfterMs(
  attempts: number,
  jitter: number,
  waits: readonly number[] = mailWaits,
): number {
  const index = Math.min(Math.max(attempts, 1), waits.length) - 1
  return Math.round((waits[index] ?? 0) * (0.9 + 0.2 * jitter))
}
