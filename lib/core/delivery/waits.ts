import type { ReplyClass } from '../../base/reply-class.ts'
import type { Outcome } from '../../courier/outcome.ts'
import type { WaitBounds } from '../../queue/backoff.ts'

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

/** How what was said changes the schedule: sooner, or later. */
export function waitBoundsOf({ replyClass }: Outcome, attempts: number): WaitBounds {
  if (replyClass === undefined || (replyClass === 'greylist' && attempts > greylistedAttempts)) return {}
  return bounds[replyClass] ?? {}
}
