import { invalidRequest } from '../../base/problem.ts'
import { isoAfter } from '../../base/time.ts'
import { durationMs } from '../../config/duration.ts'
import type { Leased } from '../../queue/lease.ts'
import { findDeliveryToCarry, listPendingOfInbox, updateDelivery } from '../../store/deliveries.ts'
import type { WriteDb } from '../../store/dialect/dialect.ts'
import { findInbox, findResumedInbox, updateInbox } from '../../store/inboxes.ts'
import type { QueueFilter } from '../../store/queued-deliveries.ts'
import {
  deleteStandingHold,
  type HoldScope,
  insertStandingHold,
  listStandingHolds,
} from '../../store/standing-holds.ts'
import { sweepRows } from '../../store/sweeps.ts'
import type { DeliveryRow, MessageRow, StandingHoldRow } from '../../store/tables.ts'
import type { App, Rows } from '../app/app.ts'

/** Holds of the operator, by inbox, pod or domain. */
const standingHolds = 100

/**
 * Holds some of what a suspended inbox has in the queue, in a write; what is under way ends as it ends. Copies of what comes
 * to it are not held: it goes on receiving.
 * @param after the message that the step before ended with; '' at first
 * @returns how to go on; undefined when nothing more is to be held
 */
export async function holdSome(
  app: App,
  db: WriteDb,
  inboxId: string,
  after: string,
): Promise<string | undefined> {
  const inbox = await findInbox(db, inboxId)
  if (!inbox || inbox.suspendedAt === null) return undefined
  const found = await listPendingOfInbox(db, { inboxId, states: ['queued', 'deferred'], after }, sweepRows)
  const updatedAt = app.clock.now().toISOString()
  for (const { id } of found) {
    if (!(await app.queue.hold(db, id))) continue
    await updateDelivery(db, id, { state: 'held', nextAttemptAt: null, updatedAt })
  }
  if (found.length > 0) await updateInbox(db, inboxId, { hasHeld: 1 })
  return found.length < sweepRows ? undefined : found.at(-1)!.messageId
}

/**
 * Holds a delivery whose turn has come if its inbox is suspended, so that it is not tried, and nothing is counted; gives
 * whether it is held.
 */
export async function holdInstead(
  app: App,
  entry: Leased,
  delivery: DeliveryRow,
  message: Pick<MessageRow, 'inboxId'>,
): Promise<boolean> {
  if (delivery.purpose !== 'send') return false
  const held = { inboxes: [message.inboxId], messages: [delivery.messageId] }
  return app.store.writeHolding(
    () => held,
    async db => {
      if (!(await isSuspended(db, message))) return false
      await app.queue.holdLeased(db, entry)
      await noteHeld(app, db, delivery, message)
      return true
    },
  )
}

/** The same for one whose attempt has ended and is to be repeated, in the write that records it; gives whether it is held. */
export async function holdAfterAttempt(
  app: App,
  db: WriteDb,
  delivery: DeliveryRow,
  message: Pick<MessageRow, 'inboxId'>,
): Promise<boolean> {
  if (delivery.purpose !== 'send' || !(await isSuspended(db, message))) return false
  await app.queue.hold(db, delivery.id)
  await noteHeld(app, db, delivery, message)
  return true
}

async function isSuspended(db: WriteDb, { inboxId }: Pick<MessageRow, 'inboxId'>): Promise<boolean> {
  const inbox = await findInbox(db, inboxId)
  return inbox !== undefined && inbox.suspendedAt !== null
}

async function noteHeld(
  app: App,
  db: WriteDb,
  { id }: DeliveryRow,
  { inboxId }: Pick<MessageRow, 'inboxId'>,
): Promise<void> {
  const updatedAt = app.clock.now().toISOString()
  await updateDelivery(db, id, { state: 'held', nextAttemptAt: null, updatedAt })
  await updateInbox(db, inboxId, { hasHeld: 1 })
}

/**
 * Has the queue go on with some of what an inbox that was resumed has held, in one write; gives how many. It is given up as
 * late as if it were sent now: while it was held nobody could have taken it.
 */
export async function releaseSome(app: App, inboxId: string): Promise<number> {
  return app.store.writeHolding(
    () => ({ inboxes: [inboxId] }),
    async db => {
      const inbox = await findInbox(db, inboxId)
      if (!inbox || inbox.suspendedAt !== null) return 0
      const found = await listPendingOfInbox(db, { inboxId, states: ['held'], after: '' }, sweepRows)
      const now = app.clock.now()
      const expiresAt = isoAfter(now, durationMs(app.config.delivery.give_up_after))
      for (const { id, attempts } of found) {
        const nextAttemptAt = await app.queue.release(db, id, expiresAt)
        const state = attempts > 0 ? 'deferred' : 'queued'
        await updateDelivery(db, id, { state, nextAttemptAt, updatedAt: now.toISOString() })
      }
      if (found.length === 0) await updateInbox(db, inboxId, { hasHeld: 0 })
      return found.length
    },
  )
}

/** Goes on with what an inbox still holds because the process that resumed it has ended; gives how many. */
export async function releaseResumed(app: App): Promise<number> {
  for (;;) {
    const inboxId = await findResumedInbox(app.store.read)
    if (inboxId === undefined) return 0
    const count = await releaseSome(app, inboxId)
    if (count > 0) return count
  }
}

/** Of a write that makes or ends standing holds, or holds a delivery by one: after it ended, none is held by it. */
const holdsStanding = () => ({ names: ['standing holds'] })

/** What is held with all that comes new, oldest first. */
export function listHolds(app: Rows): Promise<StandingHoldRow[]> {
  return listStandingHolds(app.store.read)
}

/** What a selection holds with all that comes new; undefined where it means what is queued now alone. */
function scopeOf(filter: QueueFilter): HoldScope | undefined {
  const { inboxId = null, podId = null, domain = null, before, state, ids } = filter
  const isOfNow = before !== undefined || state !== undefined || ids !== undefined
  return isOfNow || (inboxId ?? podId ?? domain) === null ? undefined : { inboxId, podId, domain }
}

const isOf = (scope: HoldScope) => (row: StandingHoldRow) =>
  row.inboxId === scope.inboxId && row.podId === scope.podId && row.domain === scope.domain

/** Has what comes new held, too, where only an inbox, a pod or a domain is named. @throws Problem `invalid_request` */
export async function standHold(app: App, filter: QueueFilter): Promise<void> {
  const scope = scopeOf(filter)
  if (!scope) return
  await app.store.writeHolding(holdsStanding, async db => {
    const holds = await listStandingHolds(db)
    if (holds.some(isOf(scope))) return
    if (holds.length >= standingHolds)
      throw invalidRequest('', `There are ${standingHolds} holds already; release some first`)
    await insertStandingHold(db, { id: app.ids.next(), ...scope, createdAt: app.clock.now().toISOString() })
  })
}

/** Ends the holds of all that a selection names, of every one where it names nothing, so that what comes new is sent. */
export async function liftHold(
  app: App,
  { inboxId, podId, domain, before, ids }: QueueFilter,
): Promise<void> {
  if (before !== undefined || ids !== undefined) return
  const isMeant = (row: StandingHoldRow) =>
    [row.inboxId, row.podId, row.domain].every((held, index) => {
      const named = [inboxId, podId, domain][index]
      return named === undefined || named === held
    })
  await app.store.writeHolding(holdsStanding, async db => {
    for (const { id } of (await listStandingHolds(db)).filter(isMeant)) await deleteStandingHold(db, id)
  })
}

/** Holds a delivery whose turn has come, if a hold is of it still; gives whether it is held. */
export async function holdAsOperator(
  app: App,
  entry: Leased,
  { id: deliveryId, messageId }: Pick<DeliveryRow, 'id' | 'messageId'>,
): Promise<boolean> {
  const held = { ...holdsStanding(), messages: [messageId] }
  return app.store.writeHolding(
    () => held,
    async db => {
      if (!(await findDeliveryToCarry(db, deliveryId))?.isHeld) return false
      await app.queue.holdLeased(db, entry)
      const updatedAt = app.clock.now().toISOString()
      await updateDelivery(db, deliveryId, {
        state: 'held',
        heldBy: 'operator',
        nextAttemptAt: null,
        updatedAt,
      })
      return true
    },
  )
}
