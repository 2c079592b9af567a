import { createPace } from '../../base/concurrency.ts'
import { listedAddresses } from '../../mail/header/mailbox.ts'
import type { EventName } from '../../model/event.ts'
import type { EventBody, EventMessage } from '../../model/event-body.ts'
import { derivedRecipientsOfAll } from '../../model/message.ts'
import { findInboxAddress } from '../../store/inboxes.ts'
import { listBytes } from '../../store/listed-messages.ts'
import type { EventRow } from '../../store/tables.ts'
import { findToldMessage, type ToldMessage } from '../../store/told-messages.ts'
import type { App, Desk } from '../app/app.ts'
import { listAttachments, readList } from '../mailbox/attachments.ts'
import { extractionOf, extractionWithin } from '../mailbox/extraction.ts'
import { autoReplyReasonOf, isFromProven, readAuthentication, warningsOf } from '../mailbox/trust.ts'
import { type Described, withinBounds } from './bounds.ts'

/** One event as it is told, at the most (`truncated` says what was cut), and the least that each has room for in a list. */
export const eventBytes = 1024 * 1024
export const listedEventBytes = 10 * 1024

/**
 * The event as webhooks and streams tell it, in compact JSON of at most `eventBytes`. Made when it is told, because
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
 * The events for one page of a list, which has at most `listBytes`: each is whole as long as there is room for it
 * beside the least of those after it, and else cut. What was read for one and then not told counts like what was told.
 */
export async function describeListed(app: Desk, events: readonly EventRow[]): Promise<EventBody[]> {
  let left = listBytes - events.length * listedEventBytes
  const roomOf = (before: number) => {
    left -= Math.max(0, before - listedEventBytes)
    return Math.min(eventBytes, listedEventBytes + Math.max(0, left))
  }
  return (await describeEvents(app, events, 1, roomOf)).map(({ body }) => body)
}

/**
 * Every event that anybody is told is made here, from its row and from the message as it is now: rows that an older
 * version wrote are told as all others are.
 * @param roomOf how many bytes the next one may have, given those told or read of the one before; 0 at first
 */
async function describeEvents(
  app: Desk,
  events: readonly EventRow[],
  attempt: number,
  roomOf: (before: number) => number = () => eventBytes,
): Promise<Described[]> {
  const db = app.store.read
  const pace = createPace()
  const messageOf = remembering(async (id, room: number) => {
    const told = await findToldMessage(db, id, room, pace)
    return told && { message: await messageWithin(app, told, room), bytes: told.bytes }
  })
  const addressOf = remembering(async id => (await findInboxAddress(db, id)) ?? null)
  const deliveredAt = app.clock.now().toISOString()
  const described: Described[] = []
  let before = 0
  for (const event of events) {
    const room = roomOf(before)
    const told = event.messageId === null ? undefined : await messageOf(event.messageId, room)
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
      message: told?.message ?? null,
      data: snakeCased(JSON.parse(event.payload) as Record<string, unknown>),
    }
    const one = withinBounds(body, room)
    before = Math.max(one.bytes, told?.bytes ?? 0)
    described.push(one)
  }
  return described
}

/** Several events are often of one inbox, and of one message. */
function remembering<Value, More extends unknown[]>(
  read: (id: string, ...more: More) => Promise<Value>,
): (id: string, ...more: More) => Promise<Value> {
  const known = new Map<string, Promise<Value>>()
  return (id, ...more) => {
    const value = known.get(id) ?? read(id, ...more)
    known.set(id, value)
    return value
  }
}

/** Bytes of JSON that the URL of an attachment takes at the least. */
const urlBytes = 150

/** From the row itself: the API's form of a message has more than an event tells, and takes longer to make. */
async function messageWithin(app: Desk, { row, cut }: ToldMessage, room: number): Promise<EventMessage> {
  const isInbound = row.direction === 'inbound'
  const extraction = cut.has('extracted') ? extractionWithin(row) : await extractionOf(row)
  const { replyText, otp, oneTime, links } = extraction
  const attached = readList(row.attachments).length
  const areSigned = attached * urlBytes <= room
  const isTextCut = cut.has('bodyText') && row.bodyText.length >= room
  const truncated_fields = (
    [
      ['body_html', cut.has('bodyHtml')],
      ['body_text', isTextCut],
      [
        'reply_text',
        'isReplyCut' in extraction ? (extraction.isReplyCut ?? isTextCut) : isTextCut && isInbound,
      ],
      ['attachments', cut.has('attachments') || !areSigned],
      ['cc', cut.has('cc')],
      ['header_to', cut.has('headerTo')],
      ['reply_to', isInbound && listedAddresses(row.replyTo ?? '').length > derivedRecipientsOfAll],
    ] as const
  ).flatMap(([name, isCut]) => (isCut ? [name] : []))
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
    one_time: oneTime,
    links: [...links],
    // To sign a thousand URLs takes longer than all else.
    attachments: areSigned ? await listAttachments(app, row) : [],
    ...(isInbound ? { received_at: row.createdAt } : { sent_at: row.createdAt }),
    reply_to: row.replyTo,
    category: row.category as EventMessage['category'],
    auto_replyable: row.autoReplyable === 1,
    auto_reply_reason: autoReplyReasonOf(row),
    verdict: row.verdict as EventMessage['verdict'],
    authentication: readAuthentication(row.authentication),
    from_proven: isFromProven(row),
    is_new_in_thread: row.isNewInThread === 1,
    warnings: warningsOf(row),
    ...(truncated_fields.length > 0 && { truncated: true as const, truncated_fields }),
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
