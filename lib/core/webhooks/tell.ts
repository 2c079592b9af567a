import { durationMs } from '../../config/duration.ts'
import type { WebhookOutcome } from '../../courier/webhook/courier.ts'
import { nextAttemptAfterMs } from '../../queue/backoff.ts'
import { type Leased, LeaseLost } from '../../queue/lease.ts'
import type { WriteDb } from '../../store/dialect/dialect.ts'
import type { Held } from '../../store/dialect/held.ts'
import { findEvent } from '../../store/events.ts'
import type { EventRow, WebhookDeliveryRow } from '../../store/tables.ts'
import {
  findWebhook,
  findWebhookDelivery,
  listWebhookDeliveries,
  updateWebhookDelivery,
} from '../../store/webhook-deliveries.ts'
import type { App } from '../app/app.ts'
import { forwardIfUndelivered } from '../forwarding/copy.ts'
import { callWebhook, recordWebhookCall } from './call.ts'
import { createLanes, createReadsInOrder, createWebhookStanding, webhookFailures } from './lanes.ts'
import { callsOf } from './log.ts'

/** How long an event waits at the most for the call of the one before it in its inbox to end. */
const webhookLaneMs = 500

/** Tells events to webhooks, as the queue has them due. */
export interface Webhooks {
  /** Makes one attempt, when its turn has come, and records how it went, in one write. @throws LeaseLost where it is not made */
  tell(entry: Leased): Promise<void>
  /** How many of a destination may be under way: of one that fails again and again, one. */
  concurrencyOf(destination: string): number
  /** Breaks off the calls under way; they are made again at the next start. */
  stop(): void
}

/** @param random numbers in [0, 1), for the jitter of the schedule */
export function createWebhooks(app: App, random: () => number): Webhooks {
  const { webhook: settings, events } = app.config
  const waits = settings.retry.map(durationMs)
  const lanes = createLanes({ places: settings.concurrency, waitMs: webhookLaneMs })
  const inOrder = createReadsInOrder()
  const standing = createWebhookStanding()
  let isStopping = false

  async function tell(entry: Leased): Promise<void> {
    const db = app.store.read
    const { delivery, event } = await inOrder(entry.destination, async () => {
      const delivery = await findWebhookDelivery(db, entry.subjectId)
      return { delivery, event: delivery && (await findEvent(db, delivery.eventId)) }
    })
    // The event was older than events are kept.
    if (!delivery || !event) return end(entry, {}, async () => {})
    const isFirst = delivery.attempts === 0
    const lane = isFirst ? `${event.inboxId} ${entry.destination}` : undefined
    const leave = await lanes.enter({ lane, order: event.id })
    try {
      await attempt(entry, delivery, event)
    } catch (error) {
      if (error instanceof LeaseLost)
        app.log.warn({ webhookDeliveryId: entry.subjectId }, 'lease lost; this call of a webhook is not made')
      throw error
    } finally {
      leave()
    }
  }

  async function attempt(entry: Leased, delivery: WebhookDeliveryRow, event: EventRow): Promise<void> {
    // As it is now: another URL may have been set since, or none, and another secret.
    const webhook = await findWebhook(app.store.read, delivery.inboxId)
    if (!webhook) {
      const also = (write: WriteDb) => forwardUntold(app, write, event)
      return cancel(entry, event, delivery, 'there is no webhook any more', also)
    }
    if (await isToldOverStream(delivery, event)) return cancel(entry, event, delivery, 'told over the stream')
    const outcome = await callWebhook(app, webhook, event, entry.attempts, () => {
      if (!app.nodes.holds(entry.leasedBy)) throw new LeaseLost()
    })
    const isDelivered = outcome.result === 'delivered'
    if (isStopping && !isDelivered) return giveBack(entry, event)
    tellOutage(event, isDelivered, standing.note(entry.destination, isDelivered))
    const waitMs = isDelivered ? undefined : nextWaitMs(delivery.attempts + 1, outcome)
    const state = isDelivered ? 'delivered' : waitMs === undefined ? 'failed' : 'deferred'
    await end(
      entry,
      heldOf(event),
      async (db, nextAttemptAt) => {
        await recordWebhookCall(app, db, delivery, webhook.url, outcome, { state, nextAttemptAt })
        if (state === 'failed') await forwardUntold(app, db, event)
      },
      waitMs,
    )
    const { result, status, error, durationMs: took } = outcome
    const names = { eventId: event.id, webhookDeliveryId: delivery.id, inboxId: event.inboxId }
    const { attempts } = entry
    app.log.info({ ...names, attempts, result, status, error, durationMs: took }, 'webhook called')
  }

  /** That a webhook takes nothing any more is told once, and that it does again; its URL may have secrets in it. */
  function tellOutage({ inboxId }: EventRow, isDelivered: boolean, failed: number): void {
    if (isDelivered && failed >= webhookFailures) {
      app.log.warn({ inboxId, failed }, 'a webhook takes calls again')
    } else if (!isDelivered && failed === webhookFailures) {
      app.log.warn({ inboxId, failed }, 'a webhook takes no calls: it gets one at a time from now on')
    }
  }

  /** How long after the attempt with this number the next one comes; undefined when there is none. */
  function nextWaitMs(attempts: number, { result, retryAfterMs = 0 }: WebhookOutcome): number | undefined {
    if (attempts > waits.length || result === 'gone') return undefined
    return Math.max(nextAttemptAfterMs(attempts, random(), waits), retryAfterMs)
  }

  /** What was asked for again is called whoever reads. */
  async function isToldOverStream(delivery: WebhookDeliveryRow, event: EventRow): Promise<boolean> {
    if (!events.prefer_websocket || delivery.attempts > 0) return false
    if (!(await app.readers.isRead(app.store.read, event))) return false
    const [first] = await listWebhookDeliveries(app.store.read, event.id)
    return first?.id === delivery.id
  }

  /** @param also what else belongs into the write */
  function cancel(
    entry: Leased,
    event: EventRow,
    delivery: WebhookDeliveryRow,
    error: string,
    also: (db: WriteDb) => Promise<void> = async () => {},
  ): Promise<void> {
    const updatedAt = app.clock.now().toISOString()
    const to = { ...delivery, state: 'cancelled', error, nextAttemptAt: null, updatedAt }
    return end(entry, heldOf(event), async db => {
      await updateWebhookDelivery(db, delivery.id, to)
      await also(db)
    })
  }

  function giveBack(entry: Leased, event: EventRow): Promise<void> {
    return end(entry, heldOf(event), async () => {}, 0)
  }

  /**
   * Ends the lease and writes what belongs to it.
   * @param waitMs after which the entry is due again; undefined: it is over
   */
  async function end(
    entry: Leased,
    held: Held,
    write: (db: WriteDb, nextAttemptAt: string | null) => Promise<void>,
    waitMs?: number,
  ): Promise<void> {
    const work = async (db: WriteDb) => {
      let nextAttemptAt: string | null = null
      if (waitMs === undefined) await app.queue.done(db, entry)
      else nextAttemptAt = await app.queue.later(db, entry, waitMs)
      await write(db, nextAttemptAt)
    }
    try {
      await app.queue.end(work, held)
    } catch (error) {
      if (!(error instanceof LeaseLost)) throw error
      app.log.warn(
        { webhookDeliveryId: entry.subjectId },
        'lease lost; this call of a webhook is not recorded',
      )
    }
  }

  return {
    tell,
    concurrencyOf: destination => (standing.isFailing(destination) ? 1 : settings.concurrency_per_endpoint),
    stop() {
      isStopping = true
      app.webhookCourier.close()
    },
  }
}

/** What decides about the calls for an event is held by its name; a copy may be forwarded from its inbox. */
const heldOf = ({ id, inboxId }: EventRow): Held => ({
  names: [callsOf(id)],
  inboxes: inboxId === null ? [] : [inboxId],
})

/** Mail that no webhook has taken goes to a person, where its inbox wants that. */
async function forwardUntold(app: App, db: WriteDb, { type, messageId }: EventRow): Promise<void> {
  if (type === 'message.received' && messageId !== null) await forwardIfUndelivered(app, db, messageId)
}
