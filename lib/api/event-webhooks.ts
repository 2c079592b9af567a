import Type from 'typebox'
import { type EventName, eventNames } from '../model/event.ts'
import { EventBody } from '../model/event-body.ts'
import { shape } from '../model/shape.ts'
import type { Webhook } from './openapi.ts'

const summaries: Readonly<Record<EventName, string>> = {
  'message.received': 'Mail came in.',
  'message.sent': 'A message was taken by the servers of all its recipients.',
  'message.delivered': 'A message was taken by the server of one recipient.',
  'message.deferred': 'A message was not taken yet for one recipient; it is tried again. Told once.',
  'message.bounced': 'The server of a recipient refused a message, at once or later.',
  'message.complained': 'A recipient reported a message as unwanted.',
  'message.failed': 'A message was given up for one recipient without a word of their server.',
  'domain.verified': 'The DNS records of a domain are right.',
  'domain.failed': 'The DNS records of a domain are not right any more, or never were.',
  'inbox.suspended': 'The operator keeps an inbox from sending.',
  'inbox.reactivated': 'A suspended inbox may send again.',
  'webhook.test': 'Somebody tries the webhook.',
}

/** What webhooks are called with, by event; the streams tell the same. */
export const eventWebhooks: readonly Webhook[] = eventNames.map(name => ({
  name,
  summary: summaries[name],
  body: shape({ ...EventBody.properties, event: Type.Literal(name) }),
}))
