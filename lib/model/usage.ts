import Type from 'typebox'
import { KeyScope } from './policy.ts'
import { idOf, instantOf, named, nullableText, oneOf } from './shape.ts'

const PlanName = oneOf(['free', 'developer', 'pro'], {
  title: 'PlanName',
  description: 'Which limits hold; the operator sets them. `pro` has none unless they say so.',
})

export const Me = named(
  'Me',
  'What the key is that asks: of the whole account, of a pod, or of an inbox; and the plan of the account.',
  {
    accountId: idOf('Names this installation; the same for all of its keys.'),
    plan: PlanName,
    apiKeyScope: KeyScope,
  },
)
export type Me = Type.Static<typeof Me>

const counted = {
  used: Type.Integer({ minimum: 0, description: 'How much of the limit is used by now.', examples: [3] }),
  limit: Type.Unsafe<number | null>({
    type: ['integer', 'null'],
    description: 'How much may be used; null: there is no limit.',
    examples: [100],
  }),
}
const UsageCount = named('UsageCount', 'What counts against a limit.', counted)
const Quota = named('UsageQuota', 'What counts against a limit, and when it begins anew.', {
  ...counted,
  resetsAt: instantOf('When the count begins at 0 again.'),
})
const nullable = <Schema extends Type.TSchema>(schema: Schema, description: string) =>
  Type.Unsafe<Type.Static<Schema> | null>({ anyOf: [schema, { type: 'null' }], description })

const UsageLimits = named(
  'UsageLimits',
  'How much is used of each limit, what the limit is and when it begins anew; a scoped key sees less.',
  {
    plan: PlanName,
    inboxes: nullable(UsageCount, 'The inboxes of the account; null for a scoped key.'),
    inboxCreations: nullable(Quota, 'Inboxes made today (UTC) through the API; null for a scoped key.'),
    messages: nullable(
      Quota,
      'Messages sent this month (UTC); above the limit no inbox can be made. null for a scoped key.',
    ),
    coldRecipients: nullable(
      Quota,
      'Strangers that the inbox wrote to today (UTC); null when no inbox is named.',
    ),
    inboxStorage: nullable(
      UsageCount,
      'Bytes of the messages and draft attachments of the inbox. Null if no inbox is named.',
    ),
    podStorage: nullable(
      UsageCount,
      'Bytes of the messages and draft attachments of the pod. Null for an account key, unless it names an inbox.',
    ),
  },
)
export type UsageLimits = Type.Static<typeof UsageLimits>

export const UsageGrouping = oneOf(['day', 'inbox', 'pod', 'account'], {
  title: 'UsageGrouping',
  description: 'What each of `rows` is of; day unless said.',
  examples: ['day'],
})
export type UsageGrouping = Type.Static<typeof UsageGrouping>

const count = (description: string, example: number) =>
  Type.Integer({ minimum: 0, description, examples: [example] })

const counts = {
  inbound: count('Messages that came in.', 3),
  outbound: count('Messages that were given to be sent.', 2),
  delivered: count('Deliveries to one recipient that a server took; a message to two recipients has two.', 2),
  bounced: count('Deliveries to one recipient that a server refused for good, at once or later.', 0),
  attachmentBytes: count('The attachments of these messages, in bytes.', 18),
  storedBytes: count(
    'These messages as they crossed the wire, in bytes. What is deleted later is counted all the same.',
    4096,
  ),
}

const InboxUsage = named('InboxUsage', 'What one inbox sent and received.', {
  inboxId: idOf('The inbox that these are of.'),
  podId: idOf('The pod of that inbox, also of one that was deleted.'),
  address: nullableText({
    description: 'Its address, also of an inbox that was deleted.',
    examples: ['agent@example.com'],
  }),
  ...counts,
})

const history = {
  from: Type.String({ description: 'The first day (UTC) that is counted.', examples: ['2026-10-24'] }),
  to: Type.String({ description: 'The last day (UTC) that is counted.', examples: ['2026-11-22'] }),
  groupBy: UsageGrouping,
  rows: Type.Array(
    named('UsageRow', 'What was sent and received on a day, by an inbox or a pod, or by the account.', {
      day: Type.Optional(
        Type.String({
          description: 'With group_by=day: each day of the range, also one without mail.',
          examples: ['2026-11-22'],
        }),
      ),
      inboxId: Type.Optional(idOf('With group_by=inbox: the inbox that the row is of.')),
      podId: Type.Optional(idOf('With group_by=inbox or pod: the pod that the row is of.')),
      address: Type.Optional(InboxUsage.properties.address),
      accountId: Type.Optional(idOf('With group_by=account: the account.')),
      ...counts,
    }),
    { description: 'One for each day, inbox or pod, or one for the account, as group_by says.' },
  ),
  inboxes: Type.Array(InboxUsage, {
    description: 'Those that sent or received anything, the busiest first; of very many the 1,000 busiest.',
  }),
  totals: named('UsageTotals', 'What was sent and received of all that is counted.', counts),
}

const UsageHistory = named('UsageHistory', 'What was sent and received within days (UTC).', history)
export type UsageHistory = Type.Static<typeof UsageHistory>

export const Usage = named(
  'Usage',
  'What was sent and received within days (UTC), and what counts against which limit now.',
  { ...history, limits: UsageLimits },
)
export type Usage = Type.Static<typeof Usage>
