import type { Outcome } from '../../courier/outcome.ts'
import { classOf } from '../../mail/report/reply-rules.ts'
import type { EventName } from '../../model/event.ts'
import { attemptsMade, type Leased, LeaseLost } from '../../queue/leased.ts'
import { findDelivery, insertAttempt, updateDelivery } from '../../store/deliveries.ts'
import type { WriteDb } from '../../store/dialect/dialect.ts'
import type { DeliveryRow, MessageRow } from '../../store/tables.ts'
import type { Networked } from '../app/app.ts'
import { recordEvent } from '../events/record.ts'
import { noteForwardOutcome } from '../forwarding/outcome.ts'
import { countForInbox } from '../outbound/counts.ts'
import { holdAfterAttempt } from '../outbound/hold.ts'
import { eventSubject, settle } from '../outbound/settle.ts'
import { suppressBounced } from '../outbound/suppressions.ts'
import { waitBoundsOf } from './waits.ts'

/** One attempt's end, with what else belongs into the write that records it. */
export interface Ended {
  readonly outcome: Outcome
  readonly captured?: boolean
  /** A local delivery: the rows of the message as the other inbox gets it. */
  readonly write?: (db: WriteDb) => Promise<unknown>
  /** The inbox here that it was for. */
  readonly inboxId?: string
}

/** The one write at the end of an attempt: attempt, delivery, message, event, queue. */
export async function record(
  app: Networked,
  db: WriteDb,
  entry: Leased,
  delivery: DeliveryRow,
  message: MessageRow,
  { outcome: given, captured, write }: Ended,
): Promise<void> {
  const outcome = withClass(given)
  // The message was deleted while this was under way, and the queue entry with it.
  if (!(await findDelivery(db, delivery.id))) throw new LeaseLost()
  const now = app.clock.now().toISOString()
  await write?.(db)
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
  if (outcome.showing) await app.queue.note(db, entry.destination, outcome.showing, outcome.text)
  const isTransient = outcome.result === 'transient'
  const nextAttemptAt = isTransient
    ? await app.queue.later(db, entry, waitBoundsOf(outcome, attemptsMade(entry)))
    : null
  if (!isTransient) await app.queue.done(db, entry)
  const state = { delivered: 'delivered', transient: 'deferred', permanent: 'failed' }[outcome.result]
  await updateDelivery(db, delivery.id, {
    state,
    captured: captured ? 1 : 0,
    attempts: attemptsMade(entry),
    replyCode: outcome.code ?? null,
    replyEnhanced: outcome.enhanced ?? null,
    replyText: outcome.text,
    replyClass: outcome.replyClass ?? null,
    remoteHost: outcome.host ?? null,
    nextAttemptAt,
    updatedAt: now,
  })
  if (isTransient) await holdAfterAttempt(app, db, delivery, message)
  // A copy is of an inbound message, of which all is told already.
  if (delivery.purpose === 'forward') return noteForwardOutcome(app, db, delivery, outcome)
  await suppressBounced(app, db, delivery, outcome)
  await announce(app, db, message, { ...delivery, state }, outcome)
  if (!isTransient) await settle(app, db, message)
}

/** With what it is about: the courier says it of the replies that it heard, and of all else the codes and words do. */
function withClass(outcome: Outcome): Outcome {
  if (outcome.result === 'delivered' || outcome.replyClass !== undefined) return outcome
  const replyClass = classOf(outcome)
  return replyClass === undefined ? outcome : { ...outcome, replyClass }
}

/**
 * Bounced: a server said that it will not take the message for this recipient. Failed: we gave up without such a word,
 * or could not try (no answer until the end, no mail server).
 */
function eventOf(state: DeliveryRow['state'], outcome: Outcome): EventName {
  if (state === 'delivered') return 'message.delivered'
  if (state === 'deferred') return 'message.deferred'
  return outcome.code === undefined ? 'message.failed' : 'message.bounced'
}

/**
 * Tells what became of one recipient; a deferral is told the first time only, also when it was held in between.
 * @param delivery with its new state, and the attempts before this one
 */
async function announce(
  app: Networked,
  db: WriteDb,
  message: MessageRow,
  delivery: DeliveryRow,
  outcome: Outcome,
) {
  const type = eventOf(delivery.state, outcome)
  if (type === 'message.delivered') await countForInbox(db, message, app.clock.now(), { delivered: 1 })
  if (type === 'message.bounced') await countForInbox(db, message, app.clock.now(), { bounced: 1 })
  if (type === 'message.deferred' && delivery.attempts > 0) return
  const said = { status: outcome.enhanced ?? null, diagnostic: outcome.text }
  await recordEvent(app, db, type, await eventSubject(db, message), {
    deliveryId: delivery.id,
    recipient: delivery.recipient,
    ...(type === 'message.delivered' ? {} : said),
  })
}
