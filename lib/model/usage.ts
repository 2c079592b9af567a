import Type from 'typebox'
import { KeyScope } from './policy.ts'
import { Id, Instant, nullableText, oneOf, shape } from './shape.ts'

const PlanName = oneOf(['free', 'developer', 'pro'])

export const Me = shape(
  {
    accountId: Type.String({ ...Id, description: 'Names this installation; the same for all of its keys.' }),
    plan: PlanName,
    apiKeyScope: KeyScope,
  },
  { description: 'What the key is that asks: the whole account, a pod, or an inbox of it.' },
)
export type Me = Type.Static<typeof Me>

const counted = {
  used: Type.Integer({ minimum: 0, examples: [3] }),
  limit: Type.Unsafe<number | null>({
    type: ['integer', 'null'],
    description: 'null: no limit.',
    examples: [100],
  }),
}
const Quota = shape({ ...counted, resetsAt: Instant }, { description: 'What counts against a limit.' })
const nullable = <Schema extends Type.TSchema>(schema: Schema, description: string) =>
  Type.Unsafe<Type.Static<Schema> | null>({ anyOf: [schema, { type: 'null' }], description })

export const UsageLimits = shape(
  {
    plan: PlanName,
    inboxes: nullable(shape(counted), 'The inboxes of the account; null for a scoped key.'),
    inboxCreations: nullable(Quota, 'Inboxes made today (UTC) through the API; null for a scoped key.'),
    messages: nullable(
      Quota,
      'Messages sent this month (UTC); above the limit no inbox can be made. null for a scoped key.',
    ),
    coldRecipients: nullable(
      Quota,
      'Strangers that the inbox wrote to today (UTC); null when no inbox is named.',
    ),
  },
  { description: 'What was used of which limit.' },
)
export type UsageLimits = Type.Static<typeof UsageLimits>

export const UsageGrouping = oneOf(['day', 'inbox', 'pod', 'account'], { examples: ['day'] })
export type UsageGrouping = Type.Static<typeof UsageGrouping>

const count = (description: string, example: number) =>
  Type.Integer({ minimum: 0, description, examples: [example] })

const counts = {
  inbound: count('Messages that came.', 3),
  outbound: count('Messages that were sent.', 2),
  delivered: count('Deliveries to one recipient that a server took; a message to two recipients has two.', 2),
  bounced: count('Deliveries to one recipient that a server refused for good, at once or later.', 0),
  attachmentBytes: count('The attachments of these messages, in bytes.', 18),
  storedBytes: count(
    'These messages as they crossed the wire, in bytes. What is deleted later is counted all the same.',
    4096,
  ),
}

const InboxUsage = shape(
  {
    inboxId: Id,
    podId: Id,
    address: nullableText({
      description: 'Also of an inbox that was deleted.',
      examples: ['agent@example.com'],
    }),
    ...counts,
  },
  { description: 'What one inbox sent and received.' },
)

const history = {
  from: Type.String({ description: 'The first day (UTC) that is counted.', examples: ['2026-10-24'] }),
  to: Type.String({ description: 'The last day (UTC) that is counted.', examples: ['2026-11-22'] }),
  groupBy: UsageGrouping,
  rows: Type.Array(
    shape({
      day: Type.Optional(
        Type.String({
          description: 'With group_by=day: each day of the range, also one without mail.',
          examples: ['2026-11-22'],
        }),
      ),
      inboxId: Type.Optional(Id),
      podId: Type.Optional(Id),
      address: Type.Optional(InboxUsage.properties.address),
      accountId: Type.Optional(Id),
      ...counts,
    }),
    { description: 'One for each day, inbox or pod, or one for the account, as group_by says.' },
  ),
  inboxes: Type.Array(InboxUsage, {
    description: 'Those that sent or received anything, the busiest first; of very many the 1,000 busiest.',
  }),
  totals: shape(counts, { description: 'Of all that is counted.' }),
}

const UsageHistory = shape(history)
export type UsageHistory = Type.Static<typeof UsageHistory>

export const Usage = shape(
  { ...history, limits: UsageLimits },
  { description: 'What was sent and received within days (UTC), and what counts against which limit now.' },
)
export type Usage = Type.Static<typeof Usage>
