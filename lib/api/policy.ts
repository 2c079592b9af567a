import Type from 'typebox'
import { listAudit } from '../core/policy/audit.ts'
import {
  addPolicyRule,
  changePolicyMode,
  deleteRule,
  getPolicy,
  policyFaults,
  replacePolicy,
} from '../core/policy/rules.ts'
import {
  Policy,
  PolicyAction,
  PolicyAuditEntry,
  PolicyDirection,
  PolicyModeChange,
  PolicyReplacement,
  PolicyRule,
  PolicyRuleCreation,
  type PolicyWriter,
} from '../model/policy.ts'
import { oneOf, pageOf, shape } from '../model/shape.ts'
import { lookup, type Operation, operation } from './operation.ts'
import { listAnswer, pageOfQuery, pageQuery } from './page.ts'

const scopeQuery = {
  podId: Type.Optional(Type.String({ description: 'The rules of a pod, by its id or clientId.' })),
  inboxId: Type.Optional(
    Type.String({
      description: 'The rules of an inbox, by its id or address. Without either, those of the account.',
    }),
  ),
}
const levelQuery = {
  ...scopeQuery,
  setBy: Type.Optional(
    oneOf(['account', 'pod'], {
      description:
        'The level that keys of this kind set there; left out: keys of your own kind. An account key reads and changes what pod keys set with `pod`.',
    }),
  ),
}
const named = ({ podId, inboxId, setBy }: { podId?: string; inboxId?: string; setBy?: PolicyWriter }) => ({
  pod: podId,
  inbox: inboxId,
  setBy,
})

const tag = 'Sender rules'

export const policyOperations: readonly Operation[] = [
  lookup({
    id: 'getPolicy',
    method: 'get',
    path: '/v1/policy',
    tag,
    summary: 'Show the sender rules of the account, a pod or an inbox.',
    description:
      'The account, the pod and the inbox are levels, and what account keys and pod keys set for the same scope are two levels. Mail is blocked if any level blocks it, and admitted only if every level in mode `allowlist` lists it. So no level can loosen another.',
    access: 'pod',
    query: shape(levelQuery),
    success: { status: 200, schema: Policy },
    problems: ['not_found'],
    handle: ({ app, caller, query }) => getPolicy(app, caller, named(query)),
  }),
  operation({
    id: 'replacePolicy',
    method: 'put',
    path: '/v1/policy',
    tag,
    summary: 'Replace the mode and the rules of a level.',
    description:
      'A direction that is left out stays as it is. A pod key changes only what pod keys set; rules that account keys made stay in force. To add or delete one rule, use POST and DELETE /v1/policy/rules: two clients that do so do not overwrite each other.',
    access: 'pod',
    query: shape(levelQuery),
    body: PolicyReplacement,
    faults: policyFaults,
    success: { status: 200, schema: Policy },
    problems: ['not_found'],
    handle: ({ app, caller, query, body }) => replacePolicy(app, caller, named(query), body),
  }),
  operation({
    id: 'setPolicyMode',
    method: 'put',
    path: '/v1/policy/mode',
    tag,
    summary: 'Set the mode of one direction.',
    description:
      '`allowlist` admits only addresses that an allow rule of this level lists, so an empty list admits nobody. Add the rules first.',
    access: 'pod',
    query: shape(levelQuery),
    body: PolicyModeChange,
    success: { status: 200, schema: Policy },
    problems: ['not_found'],
    handle: ({ app, caller, query, body }) => changePolicyMode(app, caller, named(query), body),
  }),
  operation({
    id: 'createPolicyRule',
    method: 'post',
    path: '/v1/policy/rules',
    tag,
    summary: 'Let a sender or recipient through, or keep them out: add a rule.',
    description:
      'It holds at once. `block` beats `allow` at every scope. An inbound `allow` rule matches a sender who is proven to be the one (DMARC), so that nobody gets in by writing a name into From.',
    access: 'pod',
    query: shape(levelQuery),
    body: PolicyRuleCreation,
    faults: policyFaults,
    success: { status: 201, schema: PolicyRule },
    problems: ['not_found', 'rule_exists', 'rule_limit_reached'],
    handle: ({ app, caller, query, body }) => addPolicyRule(app, caller, named(query), body),
  }),
  operation({
    id: 'deletePolicyRule',
    method: 'delete',
    path: '/v1/policy/rules/{id}',
    tag,
    summary: 'Delete a rule. A pod key deletes rules of pod keys only.',
    description:
      'A pod key cannot delete a rule that an account key made, even for its own pod (403 `inherited_rule`).',
    access: 'pod',
    query: shape(scopeQuery),
    success: { status: 204 },
    problems: ['inherited_rule'],
    handle: ({ app, caller, params, query }) => deleteRule(app, caller, named(query), params.id!),
  }),
  lookup({
    id: 'listPolicyAudit',
    method: 'get',
    path: '/v1/policy/audit',
    tag,
    summary: 'List changes of the rules and what they refused, newest first.',
    description:
      'To find out why mail did not come in or could not be sent, and which key changed a rule (`keyId`).',
    access: 'pod',
    query: shape({
      ...scopeQuery,
      ...pageQuery,
      action: Type.Optional(PolicyAction),
      direction: Type.Optional(PolicyDirection),
      since: Type.Optional(
        Type.String({
          format: 'date-time',
          description: 'Entries of this instant and later; left out: from the oldest that is kept.',
        }),
      ),
      until: Type.Optional(
        Type.String({
          format: 'date-time',
          description: 'Entries before this instant; left out: to the newest.',
        }),
      ),
    }),
    success: { status: 200, schema: pageOf(PolicyAuditEntry) },
    problems: ['not_found'],
    handle: async ({ app, caller, query }) =>
      listAnswer(await listAudit(app, caller, named(query), query, pageOfQuery(query))),
  }),
]
