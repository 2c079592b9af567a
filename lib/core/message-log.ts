import { pageSize, pageSizeMax } from '../model/page.ts'
import { listAttempts, listDeliveries } from '../store/deliveries.ts'
import { listEventsAbout } from '../store/events.ts'
import type { MessageRow } from '../store/tables.ts'
import type { App } from './app/app.ts'
import { operator } from './app/caller.ts'
import { getMessageRow } from './app/reach.ts'
import { listEventDeliveries } from './webhooks/log.ts'

/** Something that happened to a message. */
export interface LogEntry {
  readonly at: string
  /** What it was: received, judged, queued, attempt, an event, or a call of a webhook. */
  readonly what: string
  /** To whom or by whom. */
  readonly who: string | null
  readonly said: string
}

/**
 * All that is known of what happened to a message, from the connection that brought it to the last attempt and the last call of a
 * webhook, in order (for the operator). Events and their calls are there as long as they are kept.
 * @throws Problem `not_found`
 */
export async function readMessageLog(app: App, id: string): Promise<LogEntry[]> {
  const row = await getMessageRow(app.store.read, operator, id)
  const entries = [...arrivalOf(row), ...(await carriedOf(app, row.id)), ...(await toldOf(app, row))]
  return entries.sort((one, other) => (one.at < other.at ? -1 : one.at > other.at ? 1 : 0))
}

function arrivalOf({
  createdAt: at,
  direction,
  trace,
  authentication,
  verdict,
  mailFrom,
  category,
}: MessageRow): LogEntry[] {
  if (direction !== 'inbound') return [{ at, what: 'queued', who: null, said: `as from <${mailFrom}>` }]
  // The last of our fields: Return-Path and the results stand before it.
  const received = trace.split(/\r?\n(?![ \t])/).findLast(field => /^Received:/i.test(field))
  const said = (received ?? '').replace(/^Received:\s*/i, '').replaceAll(/\s+/g, ' ')
  const results = Object.entries(JSON.parse(authentication) as Record<string, unknown>)
    .filter(([, value]) => typeof value === 'string')
    .map(([name, value]) => `${name}=${value}`)
  return [
    { at, what: 'received', who: mailFrom === '' ? '<>' : mailFrom, said },
    { at, what: 'judged', who: null, said: [verdict, category, ...results].join(' ') },
  ]
}

async function carriedOf(app: App, id: string): Promise<LogEntry[]> {
  const found: LogEntry[] = []
  for (const { id: deliveryId, recipient, purpose, createdAt, state, updatedAt } of await listDeliveries(
    app.store.read,
    id,
  )) {
    found.push({
      at: createdAt,
      what: purpose === 'send' ? 'to be sent' : 'to be forwarded',
      who: recipient,
      said: '',
    })
    for (const one of await listAttempts(app.store.read, deliveryId, pageSize)) {
      const { result, replyCode, replyText, remoteHost, remoteAddress, tls, durationMs } = one
      const host = [remoteHost, remoteAddress && `[${remoteAddress}]`, tls].filter(part => part).join(' ')
      const said = [result, replyCode, replyText, host && `(${host})`, `${durationMs} ms`].filter(
        part => part,
      )
      found.push({ at: one.createdAt, what: 'attempt', who: recipient, said: said.join(' ') })
    }
    found.push({ at: updatedAt, what: state, who: recipient, said: '' })
  }
  return found
}

async function toldOf(app: App, { id, inboxId }: MessageRow): Promise<LogEntry[]> {
  const found: LogEntry[] = []
  for (const event of await listEventsAbout(app.store.read, { inboxId, messageId: id }, pageSizeMax)) {
    found.push({ at: event.createdAt, what: event.type, who: null, said: `event ${event.id}` })
    for (const { url, log } of await listEventDeliveries(app, operator, event.id)) {
      found.push(
        ...log.map(({ createdAt, status, error, durationMs }) => ({
          at: createdAt,
          what: 'webhook',
          who: url,
          said: `${status ?? error ?? 'no answer'} ${durationMs} ms`,
        })),
      )
    }
  }
  return found
}
