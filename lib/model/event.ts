/** What can happen, as events name it (decisions, section 9); each is a row written in the transaction of what it tells. */
export type EventName =
  | 'message.received'
  | 'message.sent'
  | 'message.delivered'
  | 'message.deferred'
  | 'message.failed'
  | 'domain.verified'
  | 'domain.failed'
