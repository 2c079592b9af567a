import { Problem } from '../../base/problem.ts'
import { isoAfter } from '../../base/time.ts'
import { durationMs } from '../../config/duration.ts'
import { normaliseMailDomain } from '../../mail/address/address.ts'
import { attemptsMade } from '../../queue/lease.ts'
import { findDelivery, findDeliveryToCarry, updateDelivery } from '../../store/deliveries.ts'
import type { WriteDb } from '../../store/dialect/dialect.ts'
import { holdRows } from '../../store/hold-rows.ts'
import { settleMessage } from '../../store/message-status.ts'
import { findMessage } from '../../store/messages.ts'
import {
  countQueuedDeliveries,
  listQueuedAfter,
  listQueuedDeliveries,
  type QueuedDelivery,
  type QueueFilter,
  type QueueState,
} from '../../store/queued-deliveries.ts'
import { sweepRows } from '../../store/sweeps.ts'
import type { DeliveryRow } from '../../store/tables.ts'
import type { App, Rows } from '../app/app.ts'
import { recordEvent } from '../events/record.ts'
import { findEventSubject } from './event-subject.ts'
import { liftHold, standHold } from './hold.ts'

export { type QueueFilter, type QueueState, queueStates } from '../../store/queued-deliveries.ts'

/** One line of the queue as the operator sees it. */
export interface QueueLine {
  readonly deliveryId: string
  readonly messageId: string
  readonly recipient: string
  readonly state: QueueState
  /** Those that came to an end, and apart those that a crash or a stop cut off. */
  readonly attempts: number
  readonly cutOffs: number
  readonly nextAttemptAt: string
  readonly givenUpAt: string
  readonly lastReply: string | null
}

/** The deliveries that are queued, the next due first. */
export async function listQueue(
  app: Rows,
  limit: number,
  filter: QueueFilter = {},
  offset = 0,
): Promise<QueueLine[]> {
  const rows = await listQueuedDeliveries(app.store.read, filter, limit, offset)
  return rows.map(row => ({
    deliveryId: row.subjectId,
    messageId: row.messageId,
    recipient: row.recipient,
    state: stateOf(row),
    attempts: attemptsMade(row),
    cutOffs: row.cutOffs,
    nextAttemptAt: row.dueAt,
    givenUpAt: row.expiresAt,
    lastReply: row.replyText,
  }))
}

/** A domain in the form that filters have it; undefined for what is none. */
export function readDomain(text: string): string | undefined {
  return normaliseMailDomain(text)
}

export function countQueue(app: Rows, filter: QueueFilter): Promise<number> {
  return countQueuedDeliveries(app.store.read, filter)
}

function stateOf({ lane, leasedBy }: QueuedDelivery): QueueState {
  return lane === 'held' ? 'held' : leasedBy === null ? 'waiting' : 'under way'
}

/** What the operator can have done to deliveries that are queued. */
const hands = { retry, hold, release, cancel } as const
export type Hand = keyof typeof hands

/**
 * Has it done to all that a filter means, in the order in which they were put, in as many writes as it takes. What is under
 * way ends as it ends; nor is anything done to what is not in the state for it. What an inbox, a pod or a domain alone is held
 * by holds what comes new, too, until the same is released.
 * @returns how many it was done to
 * @throws Problem `not_found` when ids are given that nothing queued has
 */
export async function handle(app: App, hand: Hand, filter: QueueFilter): Promise<number> {
  if (hand === 'hold') await standHold(app, filter)
  if (hand === 'release') await liftHold(app, filter)
  let done = 0
  let after: string | undefined = ''
  let seen = 0
  while (after !== undefined) {
    const from: string = after
    const step = await app.store.write(async db => {
      const found = await listQueuedAfter(db, filter, from, sweepRows)
      // What becomes of the deliveries of a message is decided by all of them.
      await holdRows(db, { messages: found.map(({ messageId }) => messageId) })
      let count = 0
      for (const one of found) if (await hands[hand](app, db, one)) count++
      const last = found.length < sweepRows ? undefined : found.at(-1)?.id
      return { count, last, seen: found.length }
    })
    done += step.count
    seen += step.seen
    after = step.last
  }
  if (filter.ids !== undefined && seen === 0)
    throw new Problem('not_found', 'Nothing that is queued has this id, and no message of it.')
  return done
}

/** It is due now, and its destination may be tried now even if it fails. */
async function retry(app: App, db: WriteDb, one: QueuedDelivery): Promise<boolean> {
  if (stateOf(one) !== 'waiting') return false
  const updatedAt = app.clock.now().toISOString()
  await app.queue.hurry(db, one)
  await updateDelivery(db, one.subjectId, { nextAttemptAt: updatedAt, updatedAt })
  return true
}

async function hold(app: App, db: WriteDb, { subjectId }: QueuedDelivery): Promise<boolean> {
  const delivery = await findDelivery(db, subjectId)
  if (!delivery || delivery.heldBy !== null || !(await app.queue.hold(db, subjectId))) return false
  const updatedAt = app.clock.now().toISOString()
  await updateDelivery(db, subjectId, { state: 'held', heldBy: 'operator', nextAttemptAt: null, updatedAt })
  return true
}

/** It goes on, and is given up as late as if it were sent now. What a suspended inbox holds goes on with the inbox alone. */
async function release(app: App, db: WriteDb, { subjectId }: QueuedDelivery): Promise<boolean> {
  const found = await findDeliveryToCarry(db, subjectId)
  // What its inbox, pod or domain is held by is released first.
  if (!found || found.delivery.heldBy === null || found.isHeld) return false
  const { delivery } = found
  const now = app.clock.now()
  const expiresAt = isoAfter(now, durationMs(app.config.delivery.give_up_after))
  const nextAttemptAt = await app.queue.release(db, subjectId, expiresAt)
  const state = delivery.attempts > 0 ? 'deferred' : 'queued'
  const updatedAt = now.toISOString()
  await updateDelivery(db, subjectId, { state, heldBy: null, nextAttemptAt, updatedAt })
  return true
}

/**
 * It is not sent any more; of a message the sender is told, by an event. Who submitted it by SMTP gets no notification beside that:
 * RFC 3464 §2.3.3 tells of what could not be delivered, and this is the will of who runs the server (as `postsuper -d` of Postfix).
 */
async function cancel(app: App, db: WriteDb, one: QueuedDelivery): Promise<boolean> {
  const delivery = await findDelivery(db, one.subjectId)
  // Held, so that it is not claimed meanwhile.
  if (!delivery || !(await app.queue.hold(db, delivery.id))) return false
  await app.queue.drop(db, delivery.id)
  const updatedAt = app.clock.now().toISOString()
  await updateDelivery(db, delivery.id, { state: 'cancelled', heldBy: null, nextAttemptAt: null, updatedAt })
  if (delivery.purpose === 'send') await tellCancelled(app, db, delivery)
  return true
}

async function tellCancelled(app: App, db: WriteDb, delivery: DeliveryRow): Promise<void> {
  const message = await findMessage(db, delivery.messageId)
  if (!message) return
  await settleMessage(db, message.id)
  await recordEvent(app, db, 'message.failed', await findEventSubject(db, message), {
    deliveryId: delivery.id,
    recipient: delivery.recipient,
    status: null,
    diagnostic: 'cancelled by the operator of this server',
  })
}
