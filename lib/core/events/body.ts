import { setImmediate } from 'node:timers/promises'
import { limits } from '../../base/limits.ts'
import { listedAddresses } from '../../mail/header/mailbox.ts'
import type { EventName } from '../../model/event.ts'
import type { EventBody, EventMessage } from '../../model/event-body.ts'
import { findInboxAddress } from '../../store/inboxes.ts'
import { findWholeMessage } from '../../store/messages.ts'
import type { EventRow, WholeMessage } from '../../store/tables.ts'
import type { App } from '../app/app.ts'
import { listAttachments, readList } from '../mailbox/attachments.ts'
import { extractionOf } from '../mailbox/extraction.ts'
import { type Described, withinBounds } from './bounds.ts'

/**
 * The event as webhooks and streams tell it, in compact JSON of at most `limits.eventBytes`. Made when it is told, because
 * the URLs of attachments are good for an hour only.
 * @param attempt how often it was tried to tell it, this time included
 */
export async function eventBody(app: App, event: EventRow, attempt: number): Promise<string> {
  return (await describeEvents(app, [event], attempt))[0]!.json
}

/** The same of several events, for their first attempt. */
export async function eventBodies(app: App, events: readonly EventRow[]): Promise<string[]> {
  return (await describeEvents(app, events, 1)).map(({ json }) => json)
}

/**
 * The events for one page of a list, which has at most `limits.listedBytes`: each is whole as long as there is room for it
 * beside the least of those after it, and else cut.
 */
export async function describeListed(app: App, events: readonly EventRow[]): Promise<EventBody[]> {
  let left = limits.listedBytes - events.length * limits.listedEventBytes
  const roomOf = (before: number) => {
    left -= Math.max(0, before - limits.listedEventBytes)
    return Math.min(limits.eventBytes, limits.listedEventBytes + Math.max(0, left))
  }
  return (await describeEvents(app, events, 1, roomOf)).map(({ body }) => body)
}

/**
 * Every event that anybody is told is made here, from its row and from the message as it is now: rows that an older
 * version wrote are told as all others are.
 * @param roomOf how many bytes the next one may have, given those of the one before; 0 at first
 */
async function describeEvents(
  app: App,
  events: readonly EventRow[],
  attempt: number,
  roomOf: (before: number) => number = () => limits.eventBytes,
): Promise<Described[]> {
  const db = app.store.read
  const messageOf = remembering(id => readMessage(app, id))
  const addressOf = remembering(async id => (await findInboxAddress(db, id)) ?? null)
  const deliveredAt = app.clock.now().toISOString()
  const described: Described[] = []
  for (const event of events) {
    const body: EventBody = {
      event: event.type as EventName,
      event_id: event.id,
      occurred_at: event.createdAt,
      delivered_at: deliveredAt,
      attempt,
      pod_id: event.podId,
      inbox_id: event.inboxId,
      inbox_address: event.inboxId === null ? null : await addressOf(event.inboxId),
      thread_id: event.threadId,
      message: event.messageId === null ? null : await messageOf(event.messageId),
      data: snakeCased(JSON.parse(event.payload) as Record<string, unknown>),
    }
    described.push(withinBounds(body, roomOf(described.at(-1)?.bytes ?? 0)))
  }
  return described
}

/** Several events are often of one inbox, and of one message. */
function remembering<Value>(read: (id: string) => Promise<Value>): (id: string) => Promise<Value> {
  const known = new Map<string, Promise<Value>>()
  return id => {
    const value = known.get(id) ?? read(id)
    known.set(id, value)
    return value
  }
}

/** One at a time, for a message can be large, and no more of it is kept than is told. */
async function readMessage(app: App, id: string): Promise<EventMessage | null> {
  const row = await findWholeMessage(app.store.read, id)
  if (!row) return null
  if (row.bodyText.length + row.bodyHtml.length > limits.listedTurnBytes) await setImmediate()
  return messageOf(app, row)
}

/** From the row itself: the API's form of a message has more than an event tells, and takes longer to make. */
async function messageOf(app: App, row: WholeMessage): Promise<EventMessage> {
  const isInbound = row.direction === 'inbound'
  const { replyText, otp, links } = extractionOf(row)
  const headerTo = row.headerTo === null ? (isInbound ? [] : [row.toAddr]) : listedAddresses(row.headerTo)
  return {
    id: row.id,
    rfc_message_id: row.rfcMessageId,
    direction: row.direction as EventMessage['direction'],
    from: row.fromAddr,
    to: isInbound ? row.toAddr : headerTo.join(', '),
    header_to: headerTo,
    cc: readList<string>(row.cc),
    delivery_role: row.deliveryRole as EventMessage['delivery_role'],
    subject: row.subject,
    body_text: row.bodyText,
    body_html: row.bodyHtml,
    reply_text: replyText,
    otp,
    links: [...links],
    attachments: await listAttachments(app, row),
    ...(isInbound ? { received_at: row.createdAt } : { sent_at: row.createdAt }),
    category: row.category as EventMessage['category'],
    auto_replyable: row.autoReplyable === 1,
    verdict: row.verdict as EventMessage['verdict'],
  }
}

/** The names of our rows in the form of the envelope. */
function snakeCased(payload: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(payload).map(([name, value]) => [
      name.replaceAll(/[A-Z]/g, letter => `_${letter.toLowerCase()}`),
      value,
    ]),
  )
}
