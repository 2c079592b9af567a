import { limits } from '../../base/limits.ts'
import { invalidRequest } from '../../base/problem.ts'
import type { Leased } from '../../queue/leased.ts'
import { findDeliveryOfInbox, updateDelivery } from '../../store/deliveries.ts'
import type { QueueFilter } from '../../store/queued-deliveries.ts'
import {
  deleteStandingHold,
  type HoldScope,
  insertStandingHold,
  listStandingHolds,
} from '../../store/standing-holds.ts'
import type { StandingHoldRow } from '../../store/tables.ts'
import type { App } from '../app/app.ts'

/** What is held with all that comes new, oldest first. */
export function listHolds(app: App): Promise<StandingHoldRow[]> {
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
  await app.store.write(async db => {
    const holds = await listStandingHolds(db)
    if (holds.some(isOf(scope))) return
    if (holds.length >= limits.standingHolds)
      throw invalidRequest('', `There are ${limits.standingHolds} holds already; release some first`)
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
  await app.store.write(async db => {
    for (const { id } of (await listStandingHolds(db)).filter(isMeant)) await deleteStandingHold(db, id)
  })
}

/** Holds a delivery whose turn has come, if a hold is of it still; gives whether it is held. */
export async function holdAsOperator(app: App, entry: Leased, deliveryId: string): Promise<boolean> {
  return app.store.write(async db => {
    if (!(await findDeliveryOfInbox(db, deliveryId))?.isHeld) return false
    await app.queue.holdLeased(db, entry)
    const updatedAt = app.clock.now().toISOString()
    await updateDelivery(db, deliveryId, {
      state: 'held',
      heldBy: 'operator',
      nextAttemptAt: null,
      updatedAt,
    })
    return true
  })
}
