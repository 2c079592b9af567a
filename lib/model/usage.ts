import Type from 'typebox'
import { KeyScope } from './policy.ts'
import { Id, Instant, oneOf, shape } from './shape.ts'

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

export const Usage = shape(
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
export type Usage = Type.Static<typeof Usage>
