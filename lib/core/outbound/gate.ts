import { Problem } from '../../base/problem.ts'
import { baseAddress, domainOf, normaliseAddress } from '../../mail/address/address.ts'
import { listedAddresses } from '../../mail/header/mailbox.ts'
import { putContacts } from '../../store/contacts.ts'
import type { Db, WriteDb } from '../../store/dialect/dialect.ts'
import { filterInboxAddresses } from '../../store/inboxes.ts'
import { listThreadAuthors } from '../../store/messages.ts'
import { findSendingFacts } from '../../store/sending.ts'
import type { InboxRow } from '../../store/tables.ts'
import { addUsages } from '../../store/usage.ts'
import type { App } from '../app/app.ts'
import { type Caller, requireAccess } from '../app/caller.ts'
import { requireSendingDomain } from '../domains/usable.ts'
import { replyParticipants } from '../mailbox/participants.ts'
import { askedOfRules, requirePermittedBy } from '../policy/check.ts'
import { nextDay, nextHour, secondsUntil, utcDay, utcHour, utcMonth } from '../quota/period.ts'
import { coldLimit, requireReplyToAllowed } from '../quota/plan.ts'
import { requireStorage } from '../quota/storage.ts'
import type { Addressees } from './addressees.ts'
import { requireNoReplyLoop } from './loop.ts'
import { requireUnsuppressed } from './suppressions.ts'

/**
 * Whether an inbox may write to these addressees at all. Asked before anything is composed, so that what is refused costs
 * little, and again in the write of the send, which is what decides.
 * @param inbox as this handle reads it
 * @throws Problem `forbidden` to a scoped key for the inbox of postmaster; `inbox_suspended`, `domain_under_review`, `unverified_domain`, `feature_requires_paid_plan`,
 * `recipient_suppressed`, `storage_full`; NotPermitted
 */
export async function requireSendable(
  app: App,
  db: Db,
  caller: Caller,
  inbox: InboxRow,
  { all, replyTo }: Addressees,
): Promise<void> {
  if (inbox.isSystem === 1) requireAccess(caller, 'account')
  if (inbox.suspendedAt !== null) throw new Problem('inbox_suspended')
  await requireStorage(app, db, inbox)
  const addresses = replyTo === null ? all : [...all, replyTo]
  const found = await findSendingFacts(db, {
    domain: domainOf(inbox.address),
    podId: inbox.podId,
    now: app.clock.now().toISOString(),
    recipients: all,
    ...askedOfRules(inbox, addresses),
  })
  requireSendingDomain(app, found.holders, inbox)
  await requireReplyToAllowed(app, db, caller, replyTo)
  requirePermittedBy(found, inbox, addresses)
  requireUnsuppressed(found.suppressions)
}

/**
 * Counts a send against the limits, in its write, so that two at once can't both take the last place.
 * @param answeredThreadId the thread that it is a reply in
 * @throws Problem `reply_loop`, `cold_outreach_limit`, `sending_limit`
 */
export async function takeSendPlaces(
  app: App,
  db: WriteDb,
  inbox: InboxRow,
  { all }: Addressees,
  answeredThreadId: string | undefined,
): Promise<void> {
  if (answeredThreadId !== undefined) await requireNoReplyLoop(app, db, answeredThreadId, all)
  const now = app.clock.now()
  const cold = await countStrangers(db, inbox, all, answeredThreadId, now)
  const subject = inbox.id
  const [written = 0, , strangers = 0] = await addUsages(db, [
    { subject, kind: 'recipients', period: utcHour(now), count: all.length },
    { subject, kind: 'messages', period: utcMonth(now), count: 1 },
    ...(cold > 0 ? [{ subject, kind: 'cold', period: utcDay(now), count: cold }] : []),
  ])
  const hourly = app.config.sending.recipients_per_inbox_hour
  if (written > hourly) throw overHourlyLimit(hourly, written - all.length, now)
  const limit = coldLimit(app, inbox, now)
  if (limit > 0 && strangers > limit) throw overLimit(limit, strangers - cold, now)
}

/**
 * Counts the strangers among the recipients of a send, in the write that sends it, and makes all of them acquaintances.
 * A stranger never wrote to this inbox and was never written to by it, and is no inbox here.
 */
async function countStrangers(
  db: WriteDb,
  inbox: InboxRow,
  recipients: readonly string[],
  answeredThreadId: string | undefined,
  now: Date,
): Promise<number> {
  const unknown = await putContacts(db, inbox.id, recipients, now.toISOString())
  return unknown.length === 0 ? 0 : countCold(db, unknown, answeredThreadId)
}

function overHourlyLimit(limit: number, used: number, now: Date): Problem {
  const resets = nextHour(now)
  const message = `This inbox may write to ${limit} recipients an hour and has written to ${used} in this one. Nothing was sent. The operator can raise sending.recipients_per_inbox_hour.`
  return new Problem('sending_limit', message, {
    limit,
    resetsAt: resets.toISOString(),
    retryAfterSeconds: secondsUntil(resets, now),
  })
}

function overLimit(limit: number, used: number, now: Date): Problem {
  const resets = nextDay(now)
  const message = `This inbox may write to ${limit} strangers a day and has written to ${used} today. Replies can be sent all the same. Nothing was sent.`
  return new Problem('cold_outreach_limit', message, {
    limit,
    resetsAt: resets.toISOString(),
    retryAfterSeconds: secondsUntil(resets, now),
  })
}

async function countCold(
  db: Db,
  unknown: readonly string[],
  answeredThreadId: string | undefined,
): Promise<number> {
  const ours = new Set(
    await filterInboxAddresses(
      db,
      unknown.flatMap(each => [each, baseAddress(each)]),
    ),
  )
  const foreign = unknown.filter(each => !ours.has(each) && !ours.has(baseAddress(each)))
  if (foreign.length === 0 || answeredThreadId === undefined) return foreign.length
  const answered = new Set<string | undefined>()
  for (const row of await listThreadAuthors(db, answeredThreadId, replyParticipants)) {
    // To and Cc do not count: whoever writes them may name anybody. Nor does a Reply-To of several.
    const replyTo = listedAddresses(row.replyTo ?? '')
    for (const address of [row.fromAddr, ...(replyTo.length === 1 ? replyTo : [])]) {
      answered.add(normaliseAddress(address))
    }
  }
  return foreign.filter(address => !answered.has(address)).length
}
