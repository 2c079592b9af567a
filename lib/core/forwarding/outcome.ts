import type { Outcome } from '../../courier/outcome.ts'
import { findCopyBefore, updateDelivery, wasTaken } from '../../store/deliveries.ts'
import type { WriteDb } from '../../store/dialect/dialect.ts'
import { holdRows } from '../../store/hold-rows.ts'
import { findInbox, updateInbox } from '../../store/inboxes.ts'
import { findMessage } from '../../store/messages.ts'
import { everyPod } from '../../store/suppressions.ts'
import type { DeliveryRow } from '../../store/tables.ts'
import type { App } from '../app/app.ts'
import { isHardBounce, isSaidToAll, suppressBounced, suppressComplained } from '../outbound/suppressions.ts'

/** Hard bounces in a row after which copies stop. */
const forwardFailuresMax = 3
/** How many of an inbox's newest messages are looked at for the copy before this one. */
const forwardLookback = 200

/** What an attempt to forward means for the inbox, in the write that records it. */
export async function noteForwardOutcome(
  app: App,
  db: WriteDb,
  delivery: DeliveryRow,
  outcome: Outcome,
): Promise<void> {
  if (isHardBounce(outcome)) await noteForwardFailure(app, db, delivery, outcome, 'courier')
  if (outcome.result === 'delivered') await noteForwarded(db, delivery)
}

/**
 * A copy came back for good, or its reader complained of it. After `forwardFailuresMax` in a row, or one complaint,
 * forwarding stops until forwardTo is set again, and the address is suppressed: not before, or the third would never be
 * seen. Nothing counts of an address that is not set any more, and nothing counts twice. The sender of the original is not
 * told: they did not write to that address.
 * @param delivery as it is before it is marked failed; a bounce of one that was taken marks it here
 * @param failure what was said of a hard bounce
 * @param heardBy what the courier heard of the address as all write it suppresses for all pods, all else for that of the inbox
 */
export async function noteForwardFailure(
  app: App,
  db: WriteDb,
  delivery: DeliveryRow,
  failure: Outcome | 'complaint',
  heardBy: 'courier' | 'mail',
): Promise<void> {
  const isComplaint = failure === 'complaint'
  if (!isComplaint && delivery.state === 'failed') return
  const inbox = await findForwardingInbox(db, delivery)
  if (!isComplaint && delivery.state === 'delivered') {
    await updateDelivery(db, delivery.id, { state: 'failed', updatedAt: app.clock.now().toISOString() })
  }
  if (inbox?.forwardStatus !== 'active') return
  const forwardFailures = inbox.forwardFailures + 1
  const isOver = isComplaint || forwardFailures >= forwardFailuresMax
  await updateInbox(db, inbox.id, { forwardFailures, ...(isOver ? { forwardStatus: 'disabled' } : {}) })
  if (!isOver) return
  const isForAll = heardBy === 'courier' && !isComplaint && isSaidToAll(delivery, failure)
  const podId = isForAll ? everyPod : inbox.podId
  await (isComplaint
    ? suppressComplained(app, db, delivery, inbox.podId)
    : suppressBounced(app, db, delivery, failure, podId))
  const kind = isComplaint ? 'complaint' : 'bounce'
  app.log.warn({ inboxId: inbox.id, deliveryId: delivery.id, kind }, 'forwarding disabled')
}

/**
 * A copy that was taken ends the row of failures, unless its host took the copy before it and sent that one back later.
 * Then this one may come back too, and the row ends only with the next copy.
 */
async function noteForwarded(db: WriteDb, delivery: DeliveryRow): Promise<void> {
  const inbox = await findForwardingInbox(db, delivery)
  if (!inbox || inbox.forwardFailures === 0) return
  const before = await findCopyBefore(db, inbox.id, delivery, forwardLookback)
  const cameBack = before?.state === 'failed' && (await wasTaken(db, before.id))
  if (!cameBack) await updateInbox(db, inbox.id, { forwardFailures: 0 })
}

/** The inbox that a copy is of, while it forwards to this address. */
async function findForwardingInbox(db: WriteDb, delivery: DeliveryRow) {
  const message = await findMessage(db, delivery.messageId)
  // Its failures are counted.
  if (message) await holdRows(db, { inboxes: [message.inboxId] })
  const inbox = message && (await findInbox(db, message.inboxId))
  return inbox?.forwardTo === delivery.recipient ? inbox : undefined
}
