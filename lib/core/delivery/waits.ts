import type { ReplyClass } from '../../base/reply.ts'
import type { Outcome } from '../../courier/outcome.ts'
import type { WaitBounds } from '../../queue/backoff.ts'

/** How soon mail is tried again whose first attempt found nobody there, at most: most such faults last seconds. */
const unansweredAgainMs = 22_000

const minute = 60_000

const bounds: Partial<Record<ReplyClass, WaitBounds>> = {
  // Most let a second attempt through after five minutes or less, and forget it after some hours.
  greylist: { atMostMs: 15 * minute },
  rate: { atLeastMs: 15 * minute },
  // Neither changes within minutes, and attempts that fail make the standing of an address worse.
  reputation: { atLeastMs: 60 * minute },
  full: { atLeastMs: 60 * minute },
}

/** After so many attempts who still says "come back" is asked by the schedule alone. */
const greylistedAttempts = 8

/** How the end of attempt number `attempts` changes the schedule: sooner, or later. */
export function waitBoundsOf(
  { replyClass, code, showing, triedAgainInMs }: Outcome,
  attempts: number,
): WaitBounds {
  // Nothing was tried, so the mail has not come further in its schedule: with its jitter it is due no later than its destination.
  if (triedAgainInMs !== undefined) return { atMostMs: triedAgainInMs * 0.9 }
  if (attempts === 1 && showing === 'fails' && code === undefined) return { atMostMs: unansweredAgainMs }
  if (replyClass === undefined || (replyClass === 'greylist' && attempts > greylistedAttempts)) return {}
  return bounds[replyClass] ?? {}
}
