import { findDelivery, updateDelivery } from '../../store/deliveries.ts'
import type { WriteDb } from '../../store/dialect/dialect.ts'
import { listPayloads, unplacedPayloads } from '../../store/events.ts'
import { findPodOfInbox } from '../../store/inboxes.ts'
import { settleMessage } from '../../store/message-status.ts'
import { findMessage } from '../../store/messages.ts'
import type { DeliveryRow } from '../../store/tables.ts'
import type { App } from '../app/app.ts'
import { recordEvent } from '../events/record.ts'
import { noteForwardFailure } from '../forwarding/outcome.ts'
import { countForInbox } from '../outbound/counts.ts'
import { findEventSubject } from '../outbound/event-subject.ts'
import { isHardBounce, suppressBounced, suppressComplained } from '../outbound/suppressions.ts'
import { outcomeSaid } from './failure.ts'
import type { Bounce, Returned } from './returned.ts'

/** Records what came back, in the write that takes the message in. What is known already changes nothing. */
export async function recordReturned(app: App, db: WriteDb, returned: Returned): Promise<void> {
  for (const bounce of returned.bounces) await recordBounce(app, db, bounce)
  for (const delivery of returned.complaints) await recordComplaint(app, db, delivery)
}

async function recordBounce(
  app: App,
  db: WriteDb,
  { delivery, said, isAboutRecipient }: Bounce,
): Promise<void> {
  const current = await findDelivery(db, delivery.id)
  const message = current && (await findMessage(db, current.messageId))
  if (!current || !message || !isOpenToBounce(current)) return
  const outcome = outcomeSaid(said)
  // Before it is marked failed: a bounce counts once.
  if (current.purpose === 'forward' && isAboutRecipient && isHardBounce(outcome)) {
    await noteForwardFailure(app, db, current, outcome, 'mail')
  }
  await updateDelivery(db, current.id, {
    state: 'failed',
    replyCode: outcome.code ?? null,
    replyEnhanced: outcome.enhanced ?? null,
    replyText: outcome.text,
    replyClass: outcome.replyClass ?? null,
    remoteHost: outcome.host ?? null,
    nextAttemptAt: null,
    updatedAt: app.clock.now().toISOString(),
  })
  // The bounce may overtake our own note that the message was taken. Or we never heard that it was, and would try again.
  await app.queue.drop(db, current.id)
  if (current.purpose === 'forward') return
  const podId = await findPodOfInbox(db, message.inboxId)
  if (isAboutRecipient && podId !== undefined) await suppressBounced(app, db, current, outcome, podId)
  await countForInbox(db, message, app.clock.now(), { bounced: 1 })
  await recordEvent(app, db, 'message.bounced', await findEventSubject(db, message), {
    deliveryId: current.id,
    recipient: current.recipient,
    status: outcome.enhanced ?? null,
    diagnostic: outcome.text,
  })
  await settleMessage(db, message.id)
}

/** One that has failed, or was called off, stays as it is. */
function isOpenToBounce({ state }: DeliveryRow): boolean {
  return ['queued', 'deferred', 'delivered'].includes(state)
}

async function recordComplaint(app: App, db: WriteDb, { id }: DeliveryRow): Promise<void> {
  const delivery = await findDelivery(db, id)
  const message = delivery && (await findMessage(db, delivery.messageId))
  if (!delivery || !message) return
  if (delivery.purpose === 'forward') return noteForwardFailure(app, db, delivery, 'complaint', 'mail')
  if (await isComplaintKnown(db, delivery, message.inboxId)) return
  const podId = await findPodOfInbox(db, message.inboxId)
  if (podId !== undefined) await suppressComplained(app, db, delivery, podId)
  const payload = { deliveryId: delivery.id, recipient: delivery.recipient }
  await recordEvent(app, db, 'message.complained', await findEventSubject(db, message), payload)
}

async function isComplaintKnown(db: WriteDb, delivery: DeliveryRow, inboxId: string): Promise<boolean> {
  const about = { inboxId, messageId: delivery.messageId, type: 'message.complained' }
  // Ids are in the order of time: none before the delivery can be about it.
  const placed = await listPayloads(db, { ...about, after: delivery.id })
  return [...placed, ...(await unplacedPayloads(db, about))].some(
    payload => JSON.parse(payload).deliveryId === delivery.id,
  )
}
