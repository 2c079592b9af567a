import { type FoundFault, faultsOfText, type Given, invalidRequest, Problem } from '../../base/problem.ts'
import { readInstant } from '../../base/time.ts'

import type { Outcome } from '../../courier/outcome.ts'
import { normaliseAddress } from '../../mail/address/address.ts'
import type { Listed, Page } from '../../model/page.ts'
import {
  evidenceLength,
  type Suppression,
  type SuppressionCreation,
  type SuppressionReason,
} from '../../model/suppression.ts'
import type { WriteDb } from '../../store/dialect/dialect.ts'
import { holdsNothing } from '../../store/dialect/held.ts'
import * as suppressions from '../../store/suppressions.ts'
import { everyPod } from '../../store/suppressions.ts'
import { sweepRows } from '../../store/sweeps.ts'
import type { DeliveryRow, SuppressionRow } from '../../store/tables.ts'
import type { App, Rows } from '../app/app.ts'
import { requireKnownAddress } from './addressees.ts'

/** How long a recipient is not written to whose mailbox was full when a mail was given up. */
const fullMailboxSuppressedMs = 7 * 24 * 3_600_000

function present(row: SuppressionRow): Suppression {
  const podId = row.podId === everyPod ? null : row.podId
  return { ...row, podId, reason: row.reason as SuppressionReason }
}

/** The name that a write holds which decides whether a recipient is suppressed. */
export const suppressionOf = (recipient: string) => `suppression ${recipient}`

/** Newest first; with one reason, or all. */
export async function listSuppressions(
  app: Rows,
  reason: SuppressionReason | undefined,
  page: Page,
): Promise<Listed<Suppression>> {
  const now = app.clock.now().toISOString()
  const { rows, total } = await suppressions.listSuppressions(app.store.read, { reason, now }, page)
  return { rows: rows.map(present), total }
}

/** For all pods; takes the place of all that there was for this recipient. @throws Problem `invalid_request` */
export async function addSuppression(app: App, request: SuppressionCreation): Promise<Suppression> {
  const now = app.clock.now().toISOString()
  const row: SuppressionRow = {
    recipient: requireKnownAddress(request.recipient, '/recipient'),
    podId: everyPod,
    reason: request.reason ?? 'manual',
    evidence: request.evidence ?? null,
    messageId: null,
    createdAt: now,
    expiresAt: requireExpiry(request.expiresAt ?? null, now),
  }
  await app.store.writeHolding(
    () => ({ names: [suppressionOf(row.recipient)] }),
    async db => {
      await suppressions.deleteSuppression(db, row.recipient)
      await suppressions.putSuppression(db, row)
    },
  )
  return present(row)
}

/** All that keep an address from being written to, of whatever pod. @throws Problem `invalid_request`, `not_found` */
export async function listSuppressionsOf(app: Rows, recipient: string): Promise<Suppression[]> {
  const found = await suppressions.listSuppressionsOf(app.store.read, requireRecipient(recipient))
  if (found.length === 0) throw new Problem('not_found', 'This recipient is not suppressed.')
  return found.map(present)
}

/** For all pods. @throws Problem `invalid_request`, `not_found` */
export async function removeSuppression(app: App, recipient: string): Promise<void> {
  const address = requireRecipient(recipient)
  if (!(await app.store.writeHolding(holdsNothing, db => suppressions.deleteSuppression(db, address)))) {
    throw new Problem('not_found', 'This recipient is not suppressed.')
  }
}

/**
 * @param inForce what holds of those who are written to
 * @throws Problem `recipient_suppressed`
 */
export function requireUnsuppressed(inForce: readonly suppressions.Suppressed[]): void {
  const found = suppressions.firstOf(inForce)
  if (!found) return
  const { recipient, reason: type } = found
  const message = `${recipient} is on the suppression list (${type}). Nothing was sent.`
  throw new Problem('recipient_suppressed', message, { recipient, type })
}

/** Whether a delivery failed because nobody is there, and not because of us, of their server or of the message. */
export function isHardBounce({ result, replyClass }: Outcome): boolean {
  return result === 'permanent' && replyClass === 'recipient'
}

/**
 * Whether what the courier heard of a recipient holds for whoever writes to them: what was said for good of the address itself,
 * before anything of the message was seen (RCPT), or by DNS. After that the words may be the message's. That a mailbox is full
 * does not: one message may be too large for what is left of it. Nor does what was said of `ANN@`, which may be another mailbox
 * than `ann@` (RFC 5321 §2.4), nor what was only ever said for now (4.4.7: given up).
 */
export function isSaidToAll({ rcptTo }: Pick<DeliveryRow, 'rcptTo'>, outcome: Outcome): boolean {
  const { stage = 'rcpt', enhanced } = outcome
  return rcptTo === null && isHardBounce(outcome) && stage === 'rcpt' && !enhanced?.startsWith('4.')
}

/**
 * Until when what failed a delivery keeps its recipient from being written to: null for ever, undefined not at all. Only
 * what speaks of the recipient and of nothing else counts, and a mailbox without room for a time.
 */
export function suppressedUntil(outcome: Outcome, now: Date): Date | null | undefined {
  if (isHardBounce(outcome)) return null
  if (outcome.result !== 'permanent' || outcome.replyClass !== 'full') return undefined
  return new Date(now.getTime() + fullMailboxSuppressedMs)
}

/**
 * Suppresses the recipient of a bounce, in the write that fails the delivery. What stands there already stays.
 * @param podId `everyPod` for what our own courier heard of the recipient of any message. What came back by mail says it for
 * the pod of its delivery alone: whoever knows the reverse-path may have written it, and one that answers tells it to who sent.
 */
export async function suppressBounced(
  app: App,
  db: WriteDb,
  delivery: Pick<DeliveryRow, 'recipient' | 'messageId'>,
  outcome: Outcome,
  podId: string,
): Promise<void> {
  const at = app.clock.now()
  const until = suppressedUntil(outcome, at)
  if (until === undefined) return
  const now = at.toISOString()
  const standing = await suppressions.findSuppression(db, [delivery.recipient], { podId, now })
  // One that will end gives way to one that will not.
  if (standing && (standing.expiresAt === null || until !== null)) return
  await suppressions.putSuppression(db, {
    recipient: delivery.recipient,
    podId,
    reason: 'bounce',
    evidence: evidenceOf(outcome),
    messageId: delivery.messageId,
    createdAt: now,
    expiresAt: until?.toISOString() ?? null,
  })
}

/** Suppresses a recipient who complained, for the pod of the delivery, whatever else is known of them: it came by mail. */
export async function suppressComplained(
  app: App,
  db: WriteDb,
  delivery: Pick<DeliveryRow, 'recipient' | 'messageId'>,
  podId: string,
): Promise<void> {
  await suppressions.putSuppression(db, {
    recipient: delivery.recipient,
    podId,
    reason: 'complaint',
    evidence: 'reported as unwanted by the mail provider of the recipient (RFC 5965)',
    messageId: delivery.messageId,
    createdAt: app.clock.now().toISOString(),
    expiresAt: null,
  })
}

function evidenceOf({ code, enhanced, text }: Outcome): string {
  return [code, enhanced, text]
    .filter(part => part !== undefined)
    .join(' ')
    .slice(0, evidenceLength)
    .toWellFormed()
}

/** An address that bounced because it was not there yet can be written to once it is an inbox here, with any tag. */
export async function forgetBounce(db: WriteDb, address: string): Promise<void> {
  await suppressions.deleteSuppression(db, address, { reason: 'bounce' })
  await suppressions.deleteTaggedSuppressions(db, address, 'bounce')
}

/** Deletes some that are over; gives how many. */
export async function expireSuppressions(app: App): Promise<number> {
  const now = app.clock.now().toISOString()
  return app.store.writeHolding(holdsNothing, db =>
    suppressions.deleteExpiredSuppressions(db, now, sweepRows),
  )
}

/** What no schema says of an entry that is to be made. */
export function* suppressionFaults(given: Given, app: App): Generator<FoundFault> {
  yield* faultsOfText(given, 'recipient', text => requireKnownAddress(text, '/recipient'))
  yield* faultsOfText(given, 'expiresAt', text => requireExpiry(text, app.clock.now().toISOString()))
}

function requireRecipient(text: string): string {
  const address = normaliseAddress(text)
  if (address !== undefined) return address
  throw invalidRequest('body/recipient', 'must be a bare email address such as ann@example.com')
}

function requireExpiry(text: string | null, now: string): string | null {
  if (text === null) return null
  const at = readInstant(text)
  if (at === undefined)
    throw invalidRequest('body/expiresAt', 'must be an instant such as 2026-01-31T12:00:00Z')
  if (at <= now) throw invalidRequest('body/expiresAt', 'must be later than now')
  return at
}
