import { limits } from '../base/limits.ts'
import { Problem } from '../base/problem.ts'
import { baseAddress, normaliseAddress } from '../mail/address.ts'
import { findContacts, putContacts } from '../store/contacts.ts'
import type { Db } from '../store/dialect.ts'
import { filterInboxAddresses } from '../store/inboxes.ts'
import { listThreadCorrespondents } from '../store/messages.ts'
import type { InboxRow } from '../store/tables.ts'
import { addUsage } from '../store/usage.ts'
import type { App } from './app.ts'
import { nextDay, secondsUntil, utcDay } from './period.ts'
import { coldLimit } from './plan.ts'

/**
 * Counts the strangers among the recipients of a send, in the write that sends it, and makes all of them acquaintances.
 * A stranger never wrote to this inbox and was never written to by it, is no inbox here, and took no part in the thread
 * that is answered.
 * @throws Problem `cold_outreach_limit`
 */
export async function takeColdPlaces(
  app: App,
  db: Db,
  inbox: InboxRow,
  recipients: readonly string[],
  answeredThreadId: string | undefined,
): Promise<void> {
  const known = new Set(await findContacts(db, inbox.id, recipients))
  const unknown = recipients.filter(address => !known.has(address))
  if (unknown.length === 0) return
  const now = app.clock.now()
  const count = await countCold(db, unknown, answeredThreadId)
  if (count > 0) {
    const counted = await addUsage(db, { subject: inbox.id, kind: 'cold', period: utcDay(now), count })
    const limit = coldLimit(app, inbox, now)
    if (limit > 0 && counted > limit) throw overLimit(limit, counted - count, now)
  }
  await putContacts(db, inbox.id, unknown, now.toISOString())
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
  for (const row of await listThreadCorrespondents(db, answeredThreadId, limits.replyParticipants)) {
    const cc = JSON.parse(row.cc) as string[]
    const to = row.headerTo?.split(', ') ?? []
    for (const address of [row.fromAddr, row.replyTo ?? '', ...to, ...cc]) {
      answered.add(normaliseAddress(address))
    }
  }
  return foreign.filter(address => !answered.has(address)).length
}
