import Type from 'typebox'
import { getMe, getUsage } from '../core/quota/usage.ts'
import { shape } from '../model/shape.ts'
import { Me, Usage } from '../model/usage.ts'
import { type Operation, operation } from './operation.ts'

export const usageOperations: readonly Operation[] = [
  operation({
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
  operation({
    id: 'getUsage',
    method: 'get',
    path: '/v1/usage',
    tag: 'Account',
    summary: "Show what counts against which limit: the account's, and those of the inbox that is named.",
    description: 'Before something is refused: what is used, what the limit is, and when it begins anew.',
    access: 'inbox',
    query: shape({ inboxId: Type.Optional(Type.String({ description: 'Shows the limits of this inbox.' })) }),
    success: { status: 200, schema: Usage },
    problems: ['not_found'],
    handle: ({ app, caller, query }) => getUsage(app, caller, query.inboxId),
  }),
]
