import { Problem } from '../../base/problem.ts'
import type { Redelivery, WebhookDelivery } from '../../model/webhook.ts'
import type { WriteDb } from '../../store/dialect/dialect.ts'
import { findEvent } from '../../store/events.ts'
import { sweepRows } from '../../store/sweeps.ts'
import type { WebhookAttemptRow, WebhookDeliveryRow } from '../../store/tables.ts'
import {
  countCallsToMake,
  deleteWebhookDeliveries,
  findEndpoint,
  listFailedEventIds,
  listWebhookAttempts,
  listWebhookDeliveries,
  updateWebhookDelivery,
} from '../../store/webhook-deliveries.ts'
import type { App, Rows } from '../app/app.ts'
import type { Caller } from '../app/caller.ts'
import { getInboxRow } from '../app/reach.ts'
import { getEventRow } from '../events/list.ts'
import { queueWebhook } from '../events/record.ts'

/** Deliveries of one event that are kept, the newest. */
const webhookDeliveriesPerEvent = 20

function present(row: WebhookDeliveryRow, attempts: readonly WebhookAttemptRow[]): WebhookDelivery {
  const { eventId: _eventId, state, ...shown } = row
  const log = attempts
    .filter(attempt => attempt.webhookDeliveryId === row.id)
    .map(({ id: _id, webhookDeliveryId: _deliveryId, ...said }) => said)
  return { ...shown, state: state as WebhookDelivery['state'], log }
}

/**
 * What became of the telling of an event, oldest first. What the account's webhook said is for account-wide keys alone:
 * its URL is none of a tenant's business.
 * @throws Problem `not_found`
 */
export async function listEventDeliveries(app: App, caller: Caller, id: string): Promise<WebhookDelivery[]> {
  const db = app.store.read
  const event = await getEventRow(db, caller, id)
  const all = await listWebhookDeliveries(db, event.id)
  const rows = caller.podId === null ? all : all.filter(row => row.inboxId !== null)
  const attempts = await listWebhookAttempts(
    db,
    rows.map(row => row.id),
  )
  return rows.map(row => present(row, attempts))
}

/** How many calls of a webhook are to be made yet: of an inbox, or without one of the account's. @throws Problem `not_found` */
export async function countCalls(
  { store }: Rows,
  caller: Caller,
  inbox: string | undefined,
): Promise<number> {
  const id = inbox === undefined ? null : (await getInboxRow(store.read, caller, inbox)).id
  return countCallsToMake(store.read, id)
}

/**
 * Tells an event again, to the present webhook, from the first attempt on. A telling that is under way ends.
 * @throws Problem `not_found`, `no_webhook_url`
 */
export async function redeliverEvent(app: App, caller: Caller, id: string): Promise<Redelivery> {
  const { id: eventId } = await getEventRow(app.store.read, caller, id)
  const held = { names: [callsOf(eventId)] }
  const deliveryId = await app.store.writeHolding(
    () => held,
    async db => {
      const event = await getEventRow(db, caller, id)
      return putAgain(app, db, event.id, event.inboxId)
    },
  )
  if (deliveryId === undefined) throw new Problem('no_webhook_url')
  return { ok: true, deliveryId }
}

/**
 * Tells again some of the events whose telling failed, `sweepRows` at the most (for the operator).
 * @param after the id of the event that the ones before ended with; '' at first
 * @param since an instant: what failed before it stays as it is; '' for all
 * @returns how many, and how to go on; undefined when there are no more
 */
export async function redeliverFailed(
  app: App,
  { after, since }: { after: string; since: string },
): Promise<{ count: number; last: string } | undefined> {
  const { read } = app.store
  const ids = await listFailedEventIds(read, { after, since, limit: sweepRows })
  const last = ids.at(-1)
  if (last === undefined) return undefined
  const held = { names: ids.map(callsOf) }
  const put = await app.store.writeHolding(
    () => held,
    async db => {
      let count = 0
      for (const id of ids) {
        const event = await findEvent(db, id)
        if (event && (await putAgain(app, db, event.id, event.inboxId)) !== undefined) count++
      }
      return count
    },
  )
  return { count: put, last }
}

/** The name that a write holds which decides about the calls for an event. */
export const callsOf = (eventId: string) => `calls ${eventId}`

/** Gives the id of the new delivery, or undefined when there is no webhook to tell it to. */
async function putAgain(
  app: App,
  db: WriteDb,
  eventId: string,
  inboxId: string | null,
): Promise<string | undefined> {
  const endpoint = await findEndpoint(db, inboxId)
  if (!endpoint) return undefined
  const before = await listWebhookDeliveries(db, eventId)
  const updatedAt = app.clock.now().toISOString()
  for (const row of before.filter(one => one.state === 'queued' || one.state === 'deferred')) {
    // A call that is under way loses its lease by this: the new delivery tells what becomes of the event.
    await app.queue.drop(db, row.id)
    const error = 'asked for again'
    await updateWebhookDelivery(db, row.id, {
      ...row,
      state: 'cancelled',
      error,
      nextAttemptAt: null,
      updatedAt,
    })
  }
  const surplus = before.slice(0, Math.max(0, before.length + 1 - webhookDeliveriesPerEvent))
  await deleteWebhookDeliveries(
    db,
    surplus.map(row => row.id),
  )
  return queueWebhook(app, db, eventId, endpoint)
}
