import { flag, number, table } from './setting.ts'

/** What a plan rations; 0 is no limit. */
export function planTable(name: string, limits: PlanLimits) {
  const none = '0: no limit'
  return table(`What the plan "${name}" allows (${none}).`, {
    inboxes: number({
      default: limits.inboxes,
      minimum: 0,
      maximum: 1_000_000,
      unit: 'inboxes',
      description: `The most inboxes (422 inbox_limit_reached above it; ${none}). The keys of one pod make at most half of them.`,
    }),
    messages_per_month: number({
      default: limits.messages,
      minimum: 0,
      maximum: 1_000_000_000,
      unit: 'messages',
      description: `The messages sent in a calendar month (UTC) after which no inbox can be made until the next one (402 spend_cap_paused; ${none}).`,
    }),
    cold_recipients_at_first: number({
      default: limits.coldAtFirst,
      minimum: 0,
      maximum: 1_000_000,
      unit: 'recipients a day',
      description: `The recipients that a new inbox may write to first in a day (UTC), without having heard from them (429 cold_outreach_limit above it; ${none}).`,
    }),
    cold_recipients: number({
      default: limits.cold,
      minimum: 0,
      maximum: 1_000_000,
      unit: 'recipients a day',
      description: `The same for an inbox that is no longer new (limits.inbox_is_new_for; ${none}).`,
    }),
    external_reply_to: flag({
      default: limits.externalReplyTo,
      description:
        'Whether replyTo of a send may be any address. If not, it must be that of an inbox here (403 feature_requires_paid_plan).',
    }),
  })
}

interface PlanLimits {
  readonly inboxes: number
  readonly messages: number
  readonly coldAtFirst: number
  readonly cold: number
  readonly externalReplyTo: boolean
}
