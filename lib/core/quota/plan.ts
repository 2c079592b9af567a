import { Problem } from '../../base/problem.ts'
import { durationMs } from '../../config/duration.ts'
import type { Config } from '../../config/load.ts'
import { baseAddress } from '../../mail/address/address.ts'
import { findAccount } from '../../store/account.ts'
import type { Db, WriteDb } from '../../store/dialect/dialect.ts'
import { findInboxByAddress } from '../../store/inboxes.ts'
import { findPod } from '../../store/pods.ts'
import type { InboxRow } from '../../store/tables.ts'
import { addUsage, findUsage, sumUsage } from '../../store/usage.ts'
import type { App, Rows } from '../app/app.ts'
import { type Caller, reachesPod } from '../app/caller.ts'
import { podShare } from '../app/share.ts'
import { nextDay, nextMonth, secondsUntil, utcDay, utcMonth } from './period.ts'

/** What the plan in force allows; 0 is no limit. */
export function planOf(app: Rows): Config['plan_pro'] {
  return app.config[`plan_${app.config.plan}`]
}

/** What was used of the account's limits. */
export interface AccountUsage {
  readonly inboxes: number
  readonly inboxCreations: number
  readonly messages: number
}

export async function readAccountUsage(app: Rows, db: Db): Promise<AccountUsage> {
  const now = app.clock.now()
  const account = await findAccount(db)
  return {
    inboxes: account?.inboxCount ?? 0,
    inboxCreations: await findUsage(db, 'account', 'inboxes', utcDay(now)),
    messages: await sumUsage(db, 'messages', utcMonth(now)),
  }
}

/**
 * Takes a place for a new inbox, in the write that makes it. The operator is not limited.
 * @throws Problem `spend_cap_paused`, `inbox_limit_reached`, `inbox_creation_limit`
 */
export async function takeInboxPlace(app: App, db: WriteDb, caller: Caller): Promise<void> {
  if (caller.keyId === null) return
  const now = app.clock.now()
  const plan = planOf(app)
  if (
    plan.messages_per_month > 0 &&
    (await sumUsage(db, 'messages', utcMonth(now))) >= plan.messages_per_month
  ) {
    throw new Problem('spend_cap_paused', undefined, {
      limit: plan.messages_per_month,
      resetsAt: nextMonth(now).toISOString(),
    })
  }
  const account = await findAccount(db)
  if (plan.inboxes > 0 && (account?.inboxCount ?? 0) >= plan.inboxes) {
    const message = `The plan allows ${plan.inboxes} inboxes, and there are as many. Delete one, or change the plan.`
    throw new Problem('inbox_limit_reached', message, { limit: plan.inboxes })
  }
  const share = podShare(plan.inboxes)
  if (plan.inboxes > 0 && caller.podId !== null && (await inboxesOfPod(db, caller.podId)) >= share) {
    const message = `The keys of one pod make at most ${share} inboxes of the plan's, and it has as many. Delete one, or ask for one with a key of the account.`
    throw new Problem('inbox_limit_reached', message, { limit: share })
  }
  const day = utcDay(now)
  const made = await addUsage(db, { subject: 'account', kind: 'inboxes', period: day, count: 1 })
  const limit = app.config.limits.inbox_creations_per_day
  requireWithin(made, limit, now)
  if (caller.podId === null) return
  const ofPod = await addUsage(db, { subject: caller.podId, kind: 'inboxes', period: day, count: 1 })
  requireWithin(ofPod, podShare(limit), now)
}

async function inboxesOfPod(db: Db, podId: string): Promise<number> {
  return (await findPod(db, podId))?.inboxCount ?? 0
}

/** @throws Problem `inbox_creation_limit` */
function requireWithin(made: number, limit: number, now: Date): void {
  if (limit > 0 && made > limit) {
    throw new Problem('inbox_creation_limit', undefined, {
      limit,
      resetsAt: nextDay(now).toISOString(),
      retryAfterSeconds: secondsUntil(nextDay(now), now),
    })
  }
}

/** How many strangers an inbox may write to today; 0: no limit. */
export function coldLimit(app: Rows, inbox: Pick<InboxRow, 'createdAt'>, now: Date): number {
  const plan = planOf(app)
  const isNew = now.getTime() - Date.parse(inbox.createdAt) < durationMs(app.config.limits.inbox_is_new_for)
  return isNew ? plan.cold_recipients_at_first : plan.cold_recipients
}

/**
 * On a plan without external Reply-To it must be an inbox here (for a scoped key: of its pod).
 * @throws Problem `feature_requires_paid_plan`
 */
export async function requireReplyToAllowed(
  app: App,
  db: Db,
  caller: Caller,
  replyTo: string | null,
): Promise<void> {
  if (replyTo === null || planOf(app).external_reply_to) return
  const inbox =
    (await findInboxByAddress(db, replyTo)) ?? (await findInboxByAddress(db, baseAddress(replyTo)))
  if (!inbox || !reachesPod(caller, inbox.podId)) throw new Problem('feature_requires_paid_plan')
}
