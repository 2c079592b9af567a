/** What can happen, as events name it (decisions, section 9); each is a row written in the transaction of what it tells. */
export const eventNames = [
  'message.received',
  'message.sent',
  'message.delivered',
  'message.deferred',
  'message.bounced',
  'message.complained',
  'message.failed',
  'domain.verified',
  'domain.failed',
  'inbox.suspended',
  'inbox.reactivated',
  'webhook.test',
] as const
export type EventName = (typeof eventNames)[number]

/** Whether anything that can happen has this name. */
export function isEventName(name: string): name is EventName {
  return (eventNames as readonly string[]).includes(name)
}
