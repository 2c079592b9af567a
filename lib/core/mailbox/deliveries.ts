import { Problem } from '../../base/problem.ts'
import { replyClasses } from '../../base/reply.ts'
import type { Delivery } from '../../model/message.ts'
import { pageSize } from '../../model/page.ts'
import { findDelivery, listAttempts, listDeliveries } from '../../store/deliveries.ts'
import { listDestinations } from '../../store/destinations.ts'
import { listEntriesOf } from '../../store/queue-entries.ts'
import type { AttemptRow, DeliveryRow } from '../../store/tables.ts'
import type { Rows } from '../app/app.ts'
import type { Caller } from '../app/caller.ts'
import { getMessageRow } from '../app/reach.ts'
import { outlookOf, type Standing } from './outlook.ts'

/** One for each recipient, in the order of to, cc and bcc; of an inbound message, the copies that were forwarded. @throws Problem `not_found` */
export async function listMessageDeliveries(app: Rows, caller: Caller, id: string): Promise<Delivery[]> {
  const row = await getMessageRow(app.store.read, caller, id)
  const standings = await standingsOf(app, await listDeliveries(app.store.read, row.id))
  return standings.map(presentDelivery)
}

/** A delivery as the operator asks for it. */
export interface ExplainedDelivery extends Delivery {
  readonly messageId: string
  /** What its concurrency is counted by: the domain, or the group of its mail servers. */
  readonly destination: string | null
  /** How many attempts a crash or a stop cut off. */
  readonly cutOffs: number
  /** How often in a row the destination has failed, and what was seen at the last; of any mail to it. */
  readonly destinationFailures: number
  readonly destinationLastFailure: string | null
  /** The newest attempts, the oldest of them first, where they are asked for. */
  readonly log: readonly Omit<AttemptRow, 'id' | 'deliveryId'>[]
}

/**
 * Why a delivery, or each one of a message, is where it is.
 * @param id of the delivery or the message
 * @throws Problem `not_found`
 */
export async function explainDeliveries(
  app: Rows,
  id: string,
  { withAttempts = false } = {},
): Promise<ExplainedDelivery[]> {
  const one = await findDelivery(app.store.read, id)
  const rows = one ? [one] : await listDeliveries(app.store.read, id)
  if (rows.length === 0)
    throw new Problem('not_found', 'There is no delivery with this id, and no message with one that has any.')
  const explained: ExplainedDelivery[] = []
  for (const standing of await standingsOf(app, rows)) {
    const { id: deliveryId } = standing.delivery
    const attempts = withAttempts ? await listAttempts(app.store.read, deliveryId, pageSize) : []
    const log = attempts.map(({ id: _id, deliveryId: _of, ...attempt }) => attempt)
    explained.push({ ...explain(standing), log })
  }
  return explained
}

function explain(standing: Standing): Omit<ExplainedDelivery, 'log'> {
  return {
    ...presentDelivery(standing),
    messageId: standing.delivery.messageId,
    destination: standing.entry?.destination ?? null,
    cutOffs: standing.entry?.cutOffs ?? 0,
    destinationFailures: standing.destination?.failures ?? 0,
    destinationLastFailure: standing.destination?.lastFailure ?? null,
  }
}

async function standingsOf(app: Rows, rows: readonly DeliveryRow[]): Promise<Standing[]> {
  const ids = rows.map(({ id }) => id)
  const entries = new Map(
    (await listEntriesOf(app.store.read, ids)).map(entry => [entry.subjectId, entry] as const),
  )
  const names = [...new Set([...entries.values()].map(({ destination }) => destination))]
  const destinations = new Map(
    (await listDestinations(app.store.read, names)).map(row => [row.name, row] as const),
  )
  const now = app.clock.now().toISOString()
  return rows.map(delivery => {
    const entry = entries.get(delivery.id)
    return { delivery, entry, destination: entry && destinations.get(entry.destination), now }
  })
}

function presentDelivery(standing: Standing): Delivery {
  const {
    messageId: _messageId,
    mailFrom: _mailFrom,
    heldBy: _heldBy,
    rcptTo: _rcptTo,
    notify: _notify,
    noticeAt: _noticeAt,
    ...told
  } = standing.delivery
  const { captured, state, purpose, ...rest } = told
  const replyClass = replyClasses.find(one => one === rest.replyClass) ?? null
  const { entry } = standing
  const isWaiting = entry !== undefined && rest.nextAttemptAt !== null
  return {
    ...rest,
    ...(isWaiting && { nextAttemptAt: entry.dueAt }),
    state: state as Delivery['state'],
    purpose: purpose as Delivery['purpose'],
    captured: captured === 1,
    replyClass,
    outlook: outlookOf(standing),
  }
}
