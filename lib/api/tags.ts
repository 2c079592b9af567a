/** The groups of operations, in the order in which somebody who begins uses them. */
export const tags = {
  Inboxes: 'Real email addresses. Begin here: make one, and mail to its address is yours to read.',
  Messages:
    'What came in and what was sent. Send, list, search, wait for mail, read the original and the attachments.',
  Threads: 'Messages that answer each other, in one inbox; each is read or unread, like a queue of work.',
  Drafts: 'Messages that are prepared now and sent later, when they are asked for or at a time of their own.',
  Events:
    'What happened, as rows that are kept, as Server-Sent Events and over a WebSocket: the same object everywhere.',
  Webhooks: 'Signed calls to an address of yours for each event: of the account, or of one inbox.',
  Domains: 'Mail domains of your own: the DNS records to publish, and whether they are right.',
  'Sender rules': 'Who may write to the inboxes, and to whom they may write.',
  Suppressions: 'Addresses that are not written to any more, because mail to them came back or was unwanted.',
  Queue: 'Mail on its way out: what waits and why; for the operator to try now, hold, release or call off.',
  Pods: 'Tenants: each has inboxes, domains and keys that no other pod sees.',
  'API keys': 'Keys that reach one pod or one inbox. The first key of the account is made by `mailboxctl`.',
  Members: 'People of your organisation, to whom mail is forwarded without asking them.',
  Account: 'What a key is, and what of which limit is used.',
  Server: 'The server itself.',
} as const

export type Tag = keyof typeof tags
