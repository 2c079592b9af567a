import { parseVerp } from '../../mail/address/verp.ts'
import { isComplaint } from '../../mail/report/arf.ts'
import { reportRecipients } from '../../mail/report/part.ts'
import type { Reading } from '../../reading/reading.ts'
import { findDelivery, findDeliveryByMailFrom } from '../../store/deliveries.ts'
import { findMessage } from '../../store/messages.ts'
import type { DeliveryRow } from '../../store/tables.ts'
import type { Reads } from '../app/app.ts'
import { systemAddress } from '../domains/usable.ts'
import { type Failure, failureOf } from './failure.ts'
import type { Recipient } from './recipient.ts'

/** What a message that came in says of deliveries of ours. */
export interface Returned {
  readonly bounces: readonly Bounce[]
  /** The deliveries that were complained about. */
  readonly complaints: readonly DeliveryRow[]
  /** Whether it is a notification about a delivery, whatever it says. */
  readonly isNotification: boolean
  /** By the id of an inbox: the thread there of the message that the notification is about. */
  readonly threadIds: ReadonlyMap<string, string>
  /**
   * Notifications about forwarded copies. Whoever has the inbox did not send those, and the notifications must not be
   * forwarded too.
   */
  readonly consumed: ReadonlySet<Recipient>
}

/** A delivery that a notification says has failed, and the words of the other side. */
export interface Bounce extends Failure {
  readonly delivery: DeliveryRow
}

/** Whether what comes to this recipient is read as a report: it came back to a delivery, or to whom providers were told of. */
export function mayReport(app: Reads, { deliveryId, address }: Recipient): boolean {
  return deliveryId !== undefined || address === systemAddress(app)
}

/**
 * Reads what comes back. To have come to the reverse-path of a delivery is the proof that it speaks of that delivery, as
 * it is to name it in a feedback report: nobody else has seen it. The same to any other address is mail like any other.
 */
export async function readReturned(
  app: Reads,
  recipients: readonly Recipient[],
  reading: Pick<Reading, 'told' | 'feedback'>,
): Promise<Returned> {
  const returned = recipients.filter(recipient => recipient.deliveryId !== undefined)
  const { told } = reading
  const bounces: Bounce[] = []
  const threadIds = new Map<string, string>()
  const consumed = new Set<Recipient>()
  for (const recipient of told.length > 0 ? returned : []) {
    const delivery = await findDelivery(app.store.read, recipient.deliveryId!)
    const original = delivery && (await findMessage(app.store.read, delivery.messageId))
    if (!delivery || !original) continue
    if (delivery.purpose === 'forward') consumed.add(recipient)
    else threadIds.set(recipient.inboxId, original.threadId)
    const failed = failureOf(delivery.recipient, told)
    if (failed) bounces.push({ ...failed, delivery })
    const { action, enhanced, text, host } = failed?.said ?? told[0]!
    app.log.info({ deliveryId: delivery.id, action, enhanced, text, host }, 'delivery status notification')
  }
  return {
    bounces,
    complaints: await findComplaints(app, recipients, reading),
    isNotification: threadIds.size + consumed.size > 0,
    threadIds,
    consumed,
  }
}

/** Feedback reports go to whom the provider was told of: postmaster or abuse; or back to where the message came from. */
async function findComplaints(
  app: Reads,
  recipients: readonly Recipient[],
  { feedback }: Pick<Reading, 'feedback'>,
): Promise<DeliveryRow[]> {
  if (feedback?.authFailure) {
    const { authFailure, originalMailFroms } = feedback
    app.log.warn(
      { authFailure, originalMailFroms: originalMailFroms.slice(0, 10) },
      'report of failed authentication',
    )
  }
  if (!feedback || !isComplaint(feedback)) return []
  const read = recipients.filter(recipient => mayReport(app, recipient))
  const paths = [...read.map(({ rcptTo }) => rcptTo), ...feedback.originalMailFroms].map(parseVerp)
  const known = new Set(paths.filter(path => path !== undefined).slice(0, reportRecipients))
  const deliveries: DeliveryRow[] = []
  for (const path of known) {
    const delivery = await findDeliveryByMailFrom(app.store.read, path)
    if (delivery) deliveries.push(delivery)
  }
  return deliveries
}
