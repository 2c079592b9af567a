const minute = 60_000
const waits = [1, 5, 15, 30, 60, 120, 240, 480].map(minutes => minutes * minute)

/**
 * How long after attempt number `attempts` (the first is 1) the next one is due: 1, 5, 15 and 30 minutes, 1, 2, 4
 * and 8 hours, then every 8 hours (RFC 5321 §4.5.4.1), up to 10 % less or more as `jitter` in [0, 1) says. When to
 * give up is the entry's `expiresAt`.
 */
export function nextAttemptAfterMs(attempts: number, jitter: number): number {
  const index = Math.min(Math.max(attempts, 1), waits.length) - 1
  return Math.round((waits[index] ?? 0) * (0.9 + 0.2 * jitter))
}
