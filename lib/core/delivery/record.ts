import type { Outcome } from '../../courier/outcome.ts'
import { classOf } from '../../mail/report/reply-rules.ts'
import type { EventName } from '../../model/event.ts'
import { attemptsMade, type Leased, LeaseLost } from '../../queue/lease.ts'
import { addToDay } from '../../store/daily-usage.ts'
import {
  type CarriedMessage,
  insertAttempt,
  type SendingInbox,
  updateDelivery,
} from '../../store/deliveries.ts'
import type { WriteDb } from '../../store/dialect/dialect.ts'
import { leaveInserts } from '../../store/dialect/left-rows.ts'
import { findPodOfInbox } from '../../store/inboxes.ts'
import { settleMessage } from '../../store/message-status.ts'
import { everyPod } from '../../store/suppressions.ts'
import type { DeliveryRow } from '../../store/tables.ts'
import { countTlsResults } from '../../store/tls-results.ts'
import { findEndpoint } from '../../store/webhook-deliveries.ts'
import type { Networked } from '../app/app.ts'
import { type NewEvent, recordEvents } from '../events/record.ts'
import { noteForwardOutcome } from '../forwarding/outcome.ts'
import { eventSubject } from '../outbound/event-subject.ts'
import { holdAfterAttempt } from '../outbound/hold.ts'
import { isSaidToAll, suppressBounced } from '../outbound/suppressions.ts'
import type { Ended } from './attempt.ts'
import { waitBoundsOf } from './waits.ts'

/** A delivery as it was before the attempt. */
export interface Attempted {
  readonly delivery: DeliveryRow
  readonly message: CarriedMessage
  /** The one that sends; undefined when it was deleted. */
  readonly inbox: SendingInbox | undefined
  /** Nothing bad is known of its destination. */
  readonly isClean: boolean
  /** When the attempt began. */
  readonly startedAt: Date
}

/** The one write at the end of an attempt: delivery, attempt, queue, message, events. */
export async function record(
  app: Networked,
  db: WriteDb,
  entry: Leased,
  attempted: Attempted,
  end: Ended,
): Promise<void> {
  const { delivery, message } = attempted
  const outcome = withClass(end.outcome)
  const now = app.clock.now().toISOString()
  const isTransient = outcome.result === 'transient'
  const retryAt = await noteDestination(app, db, entry, attempted, outcome)
  const nextAttemptAt = isTransient
    ? await app.queue.later(db, entry, waitBoundsOf(outcome, attemptsMade(entry)), retryAt)
    : null
  if (!isTransient) await app.queue.done(db, entry)
  const state = { delivered: 'delivered', transient: 'deferred', permanent: 'failed' }[outcome.result]
  const isThere = await updateDelivery(db, delivery.id, {
    state,
    captured: end.kind === 'captured' ? 1 : 0,
    attempts: attemptsMade(entry),
    replyCode: outcome.code ?? null,
    replyEnhanced: outcome.enhanced ?? null,
    replyText: outcome.text,
    replyClass: outcome.replyClass ?? null,
    remoteHost: outcome.host ?? null,
    nextAttemptAt,
    updatedAt: now,
  })
  // The message was deleted while this was under way, and the queue entry with it.
  if (!isThere) throw new LeaseLost()
  if (end.kind === 'received') await end.write(db)
  leaveInserts(db)
  await insertAttempt(db, {
    id: app.ids.next(),
    deliveryId: delivery.id,
    result: outcome.result,
    replyCode: outcome.code ?? null,
    replyEnhanced: outcome.enhanced ?? null,
    replyText: outcome.text,
    remoteHost: outcome.host ?? null,
    remoteAddress: outcome.address ?? null,
    tls: outcome.tls ?? null,
    durationMs: Math.round(outcome.durationMs),
    createdAt: now,
  })
  await countTlsResults(db, outcome.tlsResults ?? [], now)
  if (isTransient) await holdAfterAttempt(app, db, delivery, message)
  // A copy is of an inbound message, of which all is told already.
  if (delivery.purpose === 'forward') return noteForwardOutcome(app, db, delivery, outcome)
  if (outcome.result === 'permanent') {
    const podId = isSaidToAll(delivery, outcome) ? everyPod : await findPodOfInbox(db, message.inboxId)
    if (podId !== undefined) await suppressBounced(app, db, delivery, outcome, podId)
  }
  await announce(app, db, attempted, state, outcome)
}

/** Notes what the attempt has shown of its destination; returns when that is tried next, if it is known to fail. */
function noteDestination(
  { queue }: Networked,
  db: WriteDb,
  { destination }: Leased,
  { isClean, startedAt }: Attempted,
  outcome: Outcome,
): Promise<string | undefined> | undefined {
  const { showing, text } = outcome
  if (!notesDestination(outcome, isClean)) return undefined
  const forMs = postponedMs(outcome)
  if (forMs !== undefined) return queue.postpone(db, destination, forMs, text)
  return showing && queue.note(db, destination, showing, text, startedAt)
}

/** Returns whether an outcome changes what is known of the destination. @param isClean whether nothing bad is known of it */
export function notesDestination(outcome: Outcome, isClean: boolean): boolean {
  const { showing } = outcome
  return postponedMs(outcome) !== undefined || (showing !== undefined && !(isClean && showing !== 'fails'))
}

/** For how long it is no use to try others at the same servers, where nothing could be tried. */
export function postponedMs({ showing, triedAgainInMs }: Outcome): number | undefined {
  return showing === undefined ? triedAgainInMs : undefined
}

/** With what it is about: the courier says it of the replies that it heard, and of all else the codes and words do. */
export function withClass(outcome: Outcome): Outcome {
  const { result, stage, replyClass: known } = outcome
  if (result === 'delivered' || stage !== undefined || known !== undefined) return outcome
  const found = classOf(outcome)
  if (found === undefined) return outcome
  // Of what no server said the words are ours: that a host has no address, or one where nothing goes, is not about the recipient.
  const isOfDomain = outcome.code !== undefined || outcome.enhanced?.startsWith('5.1.') === true
  return { ...outcome, replyClass: found === 'recipient' && !isOfDomain ? 'host' : found }
}

/**
 * Bounced: a server said that it will not take the message for this recipient. Failed: we gave up without such a word,
 * or could not try (no answer until the end, no mail server).
 */
function eventOf(state: string, outcome: Outcome): EventName {
  if (state === 'delivered') return 'message.delivered'
  if (state === 'deferred') return 'message.deferred'
  return outcome.code === undefined ? 'message.failed' : 'message.bounced'
}

/**
 * Tells what became of one recipient, a deferral the first time only, also when it was held in between; and that the message
 * is sent, when it was the last one and all have taken it.
 */
async function announce(
  app: Networked,
  db: WriteDb,
  { delivery, message, inbox }: Attempted,
  state: string,
  outcome: Outcome,
) {
  const type = eventOf(state, outcome)
  const at = app.clock.now().toISOString()
  if (inbox && type === 'message.delivered') addToDay(db, inbox, at, { delivered: 1 })
  if (inbox && type === 'message.bounced') addToDay(db, inbox, at, { bounced: 1 })
  if (type === 'message.deferred' && delivery.attempts > 0) return
  const said = { status: outcome.enhanced ?? null, diagnostic: outcome.text }
  const payload = {
    deliveryId: delivery.id,
    recipient: delivery.recipient,
    ...(type === 'message.delivered' ? {} : said),
  }
  const isSent = state !== 'deferred' && (await settleMessage(db, message.id)) === 'sent'
  const subject = eventSubject(message, inbox?.podId)
  const endpoint = await findEndpoint(db, subject.inboxId)
  const told: NewEvent[] = [{ type, subject, payload, endpoint }]
  if (isSent) told.push({ type: 'message.sent', subject, endpoint })
  recordEvents(app, db, told)
}
