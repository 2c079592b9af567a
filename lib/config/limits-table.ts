import { duration, number, table } from './setting.ts'

/** What is rationed, whatever the plan is. */
export const limitsTable = table('What is rationed whatever the plan is.', {
  inbox_creations_per_day: number({
    default: 100,
    local: 0,
    minimum: 0,
    maximum: 1_000_000,
    unit: 'inboxes',
    description:
      'The most inboxes that are made through the API in a day, UTC (429 inbox_creation_limit above it; 0: no limit). The keys of one pod make at most half of them.',
  }),
  forward_confirmations_per_hour: number({
    default: 10,
    minimum: 1,
    maximum: 10_000,
    unit: 'mails an hour',
    description:
      'The most mails an hour that ask an address whether it wants forwarded copies (429 forward_verification_limit above it). At most half of them are for the keys of one pod.',
  }),
  unverified_domains_per_pod: number({
    default: 20,
    minimum: 1,
    maximum: 10_000,
    unit: 'domains',
    description:
      'The most domains of a pod that are not verified (422 domain_limit_reached above it): each has a key, and is looked for in DNS again and again.',
  }),
  inbox_is_new_for: duration(['1h', '3650d'], {
    default: '30d',
    description: 'How long cold_recipients_at_first of the plan is in force for an inbox.',
  }),
})

/** How much inboxes and pods may store. */
export const storageTable = table(
  'How much mail is stored. mailboxd answers 452 4.2.2 to senders and 422 storage_full to clients if an inbox or a pod is full.',
  {
    inbox_bytes: number({
      default: 0,
      minimum: 0,
      maximum: 1_000_000_000_000_000,
      unit: 'bytes',
      description:
        'Bytes that one inbox may store: messages as sent or received, texts of drafts and attachments of unsent drafts, each rounded up to 1 KiB (0: no limit).',
    }),
    pod_bytes: number({
      default: 5_000_000_000,
      minimum: 0,
      maximum: 1_000_000_000_000_000,
      unit: 'bytes',
      description:
        "Bytes that all inboxes of one pod may store together: messages as sent or received, texts of drafts and attachments of unsent drafts, each rounded up to 1 KiB (0: no limit). It does not apply to the default pod, which is the operator's own. A pod may exceed it by what is stored for it within 10 seconds, and by one message.",
    }),
  },
)

/** Bounds of what an inbox sends. */
export const sendingTable = table('Bounds of what an inbox sends, in every plan.', {
  recipients_per_inbox_hour: number({
    default: 1000,
    minimum: 1,
    maximum: 10_000_000,
    unit: 'recipients an hour',
    description:
      'The most recipients that one inbox writes to in an hour, UTC (429 sending_limit above it). Replies and mail to inboxes here count as well, so a runaway agent stops here.',
  }),
})
