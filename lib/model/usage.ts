import Type from 'typebox'
import { KeyScope } from './policy.ts'
import { Id, Instant, named, oneOf } from './shape.ts'

const PlanName = oneOf(['free', 'developer', 'pro'], {
  title: 'PlanName',
  description: 'Which limits hold; the operator sets them. `pro` has none unless they say so.',
})

export const Me = named(
  'Me',
  'What the key is that asks: of the whole account, of a pod, or of an inbox; and the plan of the account.',
  {
    accountId: Type.String({ ...Id, description: 'Names this installation; the same for all of its keys.' }),
    plan: PlanName,
    apiKeyScope: KeyScope,
  },
)
export type Me = Type.Static<typeof Me>

const counted = {
  used: Type.Integer({ minimum: 0, description: 'How much of it is used.', examples: [3] }),
  limit: Type.Unsafe<number | null>({
    type: ['integer', 'null'],
    description: 'null: no limit.',
    examples: [100],
  }),
}
const UsageCount = named('UsageCount', 'What counts against a limit.', counted)
const Quota = named('UsageQuota', 'What counts against a limit, and when it begins anew.', {
  ...counted,
  resetsAt: Instant,
})
const nullable = <Schema extends Type.TSchema>(schema: Schema, description: string) =>
  Type.Unsafe<Type.Static<Schema> | null>({ anyOf: [schema, { type: 'null' }], description })

export const Usage = named(
  'Usage',
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
  },
)
export type Usage = Type.Static<typeof Usage>
