import { Problem } from '../base/problem.ts'
import { domainOf } from '../mail/address.ts'
import type { Db } from '../store/dialect.ts'
import { findDomain } from '../store/domains.ts'
import type { InboxRow } from '../store/tables.ts'
import { addUsage } from '../store/usage.ts'
import type { App } from './app.ts'
import type { Caller } from './caller.ts'
import { takeColdPlaces } from './cold-outreach.ts'
import { requireSendingDomain } from './domain-standing.ts'
import { utcMonth } from './period.ts'
import { requireReplyToAllowed } from './plan.ts'
import { requirePermitted } from './policy-check.ts'
import { requireNoReplyLoop } from './reply-loop.ts'
import type { Addressees } from './send-addressees.ts'
import { requireUnsuppressed } from './suppressions.ts'

/**
 * Whether an inbox may write to these addressees at all; asked before anything is composed.
 * @throws Problem `inbox_suspended`, `domain_under_review`, `unverified_domain`, `feature_requires_paid_plan`,
 * `recipient_not_permitted`, `recipient_suppressed`
 */
export async function requireSendable(
  app: App,
  caller: Caller,
  inbox: InboxRow,
  { all, replyTo }: Addressees,
): Promise<void> {
  if (inbox.suspendedAt !== null) throw new Problem('inbox_suspended')
  const domain = await findDomain(app.store.read, domainOf(inbox.address))
  if (domain) requireSendingDomain(app, domain)
  await requireReplyToAllowed(app, caller, replyTo)
  await requirePermitted(app, caller, inbox, replyTo === null ? all : [...all, replyTo])
  await requireUnsuppressed(app, all)
}

/**
 * Counts a send against the limits, in its write, so that two at once can't both take the last place.
 * @param answeredThreadId the thread that it is a reply in
 * @throws Problem `reply_loop`, `cold_outreach_limit`
 */
export async function takeSendPlaces(
  app: App,
  db: Db,
  inbox: InboxRow,
  { all }: Addressees,
  answeredThreadId: string | undefined,
): Promise<void> {
  if (answeredThreadId !== undefined) await requireNoReplyLoop(app, db, answeredThreadId, all)
  await takeColdPlaces(app, db, inbox, all, answeredThreadId)
  const period = utcMonth(app.clock.now())
  await addUsage(db, { subject: inbox.id, kind: 'messages', period, count: 1 })
}
