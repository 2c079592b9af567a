import { isoAfter } from '../base/clock.ts'
import { durationMs } from '../config/duration.ts'
import { domainOf } from '../mail/address.ts'
import { insertDeliveries } from '../store/deliveries.ts'
import type { Db } from '../store/dialect.ts'
import type { DeliveryRow } from '../store/tables.ts'
import type { App } from './app.ts'

/** A message on its way to one recipient; without a `mailFrom` of its own, under the message's. */
export type NewDelivery = Pick<DeliveryRow, 'id' | 'messageId' | 'recipient' | 'purpose' | 'mailFrom'>

/** Writes deliveries and has the queue carry them, from `at` on until they are given up. */
export async function putDeliveries(
  app: App,
  db: Db,
  deliveries: readonly NewDelivery[],
  at: Date,
): Promise<void> {
  const createdAt = at.toISOString()
  await insertDeliveries(
    db,
    deliveries.map(({ id, messageId, recipient, purpose, mailFrom }) => ({
      id,
      messageId,
      recipient,
      state: 'queued',
      captured: 0,
      attempts: 0,
      replyCode: null,
      replyEnhanced: null,
      replyText: null,
      remoteHost: null,
      nextAttemptAt: createdAt,
      createdAt,
      updatedAt: createdAt,
      purpose,
      mailFrom,
    })),
  )
  const expiresAt = isoAfter(at, durationMs(app.config.delivery.give_up_after))
  await app.queue.put(
    db,
    deliveries.map(({ id, recipient }) => ({
      kind: 'delivery' as const,
      subjectId: id,
      destination: domainOf(recipient),
      expiresAt,
    })),
  )
}
