import { limits } from '../../base/limits.ts'
import type { EventName } from '../../model/event.ts'
import type { EventBody, EventMessage } from '../../model/event-body.ts'
import { listMessagesById } from '../../store/messages.ts'
import type { EventRow, WholeMessage } from '../../store/tables.ts'
import type { App } from '../app/app.ts'
import { listAttachments, readList } from '../mailbox/attachments.ts'

/**
 * The event as webhooks and streams tell it, in compact JSON of at most `limits.webhookBodyBytes`. Made when it is
 * told, because the URLs of attachments are good for an hour only.
 * @param attempt how often it was tried to tell it, this time included
 */
export async function eventBody(app: App, event: EventRow, attempt: number): Promise<string> {
  return (await eventBodies(app, [event], attempt))[0]!
}

/** The same of several events, whose messages are read together: a message can be large, so never of many. */
export async function eventBodies(app: App, events: readonly EventRow[], attempt: number): Promise<string[]> {
  const messages = await messagesOf(app, events)
  const deliveredAt = app.clock.now().toISOString()
  return events.map(event => {
    const body: EventBody = {
      event: event.type as EventName,
      event_id: event.id,
      occurred_at: event.createdAt,
      delivered_at: deliveredAt,
      attempt,
      pod_id: event.podId,
      inbox_id: event.inboxId,
      thread_id: event.threadId,
      message: (event.messageId === null ? undefined : messages.get(event.messageId)) ?? null,
      data: snakeCased(JSON.parse(event.payload) as Record<string, unknown>),
    }
    const json = JSON.stringify(body)
    // No UTF-16 unit takes more than three bytes in UTF-8.
    if (json.length <= limits.webhookBodyBytes / 3 || !body.message) return json
    return withinBounds(json, { ...body, message: body.message })
  })
}

/** Cuts the text of the message until the whole is small enough; half as much each time, at first about as much as fits. */
function withinBounds(json: string, body: EventBody & { message: EventMessage }): string {
  let fitting = json
  let text = body.message.body_text
  for (;;) {
    const excess = Buffer.byteLength(fitting) - limits.webhookBodyBytes
    if (excess <= 0 || text === '') return fitting
    text = text
      .slice(0, Math.min(Math.floor(text.length / 2), Math.max(0, text.length - excess)))
      .toWellFormed()
    fitting = JSON.stringify({ ...body, message: { ...body.message, body_text: text, truncated: true } })
  }
}

async function messagesOf(app: App, events: readonly EventRow[]): Promise<Map<string, EventMessage>> {
  const ids = new Set(events.flatMap(event => event.messageId ?? []))
  const rows = ids.size === 0 ? [] : await listMessagesById(app.store.read, [...ids])
  const messages = new Map<string, EventMessage>()
  for (const row of rows) messages.set(row.id, await messageOf(app, row))
  return messages
}

/** From the row itself: the API's form of a message has more than an event tells, and takes longer to make. */
async function messageOf(app: App, row: WholeMessage): Promise<EventMessage> {
  return {
    id: row.id,
    rfc_message_id: row.rfcMessageId,
    from: row.fromAddr,
    to: row.headerTo === null ? [row.toAddr] : row.headerTo.split(', '),
    cc: readList<string>(row.cc),
    subject: row.subject,
    body_text: row.bodyText,
    attachments: await listAttachments(app, row),
    received_at: row.createdAt,
    category: row.category,
    auto_replyable: row.autoReplyable === 1,
    verdict: row.verdict,
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
