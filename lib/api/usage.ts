import Type from 'typebox'
import { getMe, getUsage } from '../core/quota/usage.ts'
import { shape } from '../model/shape.ts'
import { Me, Usage, UsageGrouping } from '../model/usage.ts'
import { lookup, type Operation } from './operation.ts'

const day = (description: string) =>
  Type.Optional(
    Type.String({
      maxLength: 40,
      description: `${description} A day (UTC), or an instant of it.`,
      examples: ['2026-11-22'],
    }),
  )

export const usageOperations: readonly Operation[] = [
  lookup({
    id: 'getMe',
    method: 'get',
    path: '/v1/me',
    tag: 'Account',
    summary: 'Show what the key reaches, and the plan.',
    description:
      'The first request of an agent: is the key good, and does it reach the account, a pod or one inbox?',
    access: 'inbox',
    success: { status: 200, schema: Me },
    problems: [],
    handle: ({ app, caller }) => getMe(app, caller),
  }),
  lookup({
    id: 'getUsage',
    method: 'get',
    path: '/v1/usage',
    tag: 'Account',
    summary: 'Show what was sent and received, and what counts against which limit.',
    description:
      'By day, inbox or pod, or all in one, within what the key reaches, or of the inbox that is named. `limits` tells before something is refused: what is used, what the limit is, and when it begins anew.',
    access: 'inbox',
    query: shape({
      from: day('The first day, at most 92 days before the last; 29 days before it unless said.'),
      to: day('The last day; today unless said.'),
      group_by: Type.Optional(UsageGrouping),
      inboxId: Type.Optional(
        Type.String({ description: 'Counts this inbox alone, by its id or address, and shows its limits.' }),
      ),
    }),
    success: { status: 200, schema: Usage },
    problems: ['not_found'],
    handle: ({ app, caller, query }) => getUsage(app, caller, query),
  }),
]
