/** What can happen, as events name it (decisions, section 9); each is a row written in the transaction of what it tells. */
export const eventNames = [
  'message.received',
  'message.sent',
  'message.delivered',
  'message.deferred',
  'message.bounced',
  'message.complained',
  'message.failed',
  'draft.blocked',
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

/** Of each event a sentence that says what it is, and then when it is told and what to do about it. */
export const eventMeanings: Readonly<Record<EventName, readonly [summary: string, description: string]>> = {
  'message.received': [
    'Mail came in and is kept.',
    "For the webhook of the inbox, else the account's, as soon as the mail is kept. `message.auto_replyable` says whether it may be answered by a program.",
  ],
  'message.sent': [
    'A message was taken by the servers of all its recipients.',
    'Once for a message, after the last recipient; it may still come back (`message.bounced`).',
  ],
  'message.delivered': [
    'A message was taken by the server of one recipient.',
    'Once for each recipient; `data` names it.',
  ],
  'message.deferred': [
    'A message was not taken yet for one recipient; it is tried again.',
    'Told the first time only; nothing needs to be done. `data` has what the server said.',
  ],
  'message.bounced': [
    'The server of a recipient refused a message, at once or later.',
    'For good: do not send it again. `data` has the recipient and what the server said; where it spoke of the recipient, the address is suppressed.',
  ],
  'message.complained': [
    'A recipient reported a message as unwanted.',
    'The address is suppressed; write to it no more.',
  ],
  'message.failed': [
    'A message was given up for one recipient without a word of their server.',
    'After days of trying, or where no server takes mail. `data` has the recipient and what was found.',
  ],
  'draft.blocked': [
    'A scheduled draft was refused at its time, so it was not sent.',
    'The draft is open again. `data` has the code and the reason. After `recipients_changed` it also has both lists: PATCH the draft or name its recipients, then send or schedule it again.',
  ],
  'domain.verified': [
    'The DNS records of a domain are right.',
    'Inboxes of the domain can be made, and send and receive.',
  ],
  'domain.failed': [
    'The DNS records of a domain are not right any more, or never were.',
    '`GET /v1/domains/{id}` says of each record what was found. Its inboxes keep receiving what still comes.',
  ],
  'inbox.suspended': [
    'The operator keeps an inbox from sending.',
    'It receives, and what was queued is held; a send is refused as `inbox_suspended`.',
  ],
  'inbox.reactivated': ['A suspended inbox may send again.', 'What was held goes on its way.'],
  'webhook.test': [
    'Somebody tries the webhook.',
    'Made by `POST /v1/inboxes/{id}/webhook/test`. Answer it like any other; nothing happened.',
  ],
}
