import Type from 'typebox'
import { policyRules } from '../base/problem.ts'
import { idOf, instantOf, named, nullableOneOf, nullableText, oneOf } from './shape.ts'

/** The text of a rule: an address, or a domain with `*@` before it. */
export const policyValueLength = 320

export const PolicyDirection = oneOf(['inbound', 'outbound'], {
  title: 'PolicyDirection',
  description: 'inbound: who may write to the inboxes. outbound: to whom they may write.',
})
export type PolicyDirection = Type.Static<typeof PolicyDirection>

export const PolicyMode = oneOf(['none', 'allowlist', 'inherit'], {
  title: 'PolicyMode',
  description:
    'allowlist: only addresses that an allow rule of this level lists. none, inherit: this level has no list. Block rules apply in each mode, and every list above or below this level still applies.',
})
export type PolicyMode = Type.Static<typeof PolicyMode>

export const RuleType = oneOf(['allow', 'block'], {
  title: 'PolicyRuleType',
  description: 'block beats allow, at every level and in every mode.',
})
export type RuleType = Type.Static<typeof RuleType>

/** Whose keys set a level of sender rules. */
export type PolicyWriter = 'account' | 'pod'

const value = Type.String({
  minLength: 1,
  maxLength: policyValueLength,
  description:
    'An address; example.com, @example.com or *@example.com for that exact domain; *.example.com for it and every subdomain.',
  examples: ['*.example.com'],
})

export const PolicyRule = named(
  'PolicyRule',
  'A sender rule. Block beats allow, at every level and in every mode.',
  {
    id: idOf('Names the rule; it is deleted by it.'),
    type: RuleType,
    value,
    direction: PolicyDirection,
    createdAt: instantOf('When it was made.'),
  },
)
export type PolicyRule = Type.Static<typeof PolicyRule>

const ScopeOfKey = named('PodOrInbox', 'A pod, or one inbox of it.', {
  podId: Type.String({ description: 'The pod that the key is confined to, or that the rules are of.' }),
  inboxId: nullableText({ description: 'The inbox of it; null: all of the pod.' }),
})

export const KeyScope = Type.Unsafe<'account' | { podId: string; inboxId: string | null }>({
  examples: ['account'],
  oneOf: [{ type: 'string', const: 'account' }, ScopeOfKey],
  title: 'Scope',
  description: '`account`: all of it. Else the pod, and the inbox of it.',
})
export type KeyScope = Type.Static<typeof KeyScope>

const PolicyOfDirection = named('DirectionPolicy', 'What holds in one direction.', {
  mode: PolicyMode,
  effectiveMode: oneOf(['none', 'allowlist'], {
    title: 'PolicyModeInForce',
    description:
      '`allowlist` if this level or another one that applies here has a list: then mail must be on every such list.',
  }),
  rules: Type.Array(PolicyRule, {
    examples: [[]],
    description:
      'The rules of this level: those that keys of your kind (account keys or pod keys) made for this scope. An account key reads the level of the pod keys with `setBy=pod`.',
  }),
  inheritedRules: Type.Array(PolicyRule, {
    examples: [[]],
    description:
      'The rules of other levels that apply here as well: those of the account, of the pod, and those that keys of the other kind made for this scope.',
  }),
})
export type PolicyOfDirection = Type.Static<typeof PolicyOfDirection>

export const Policy = named(
  'Policy',
  'Who may write to the inboxes of a scope, and to whom they may write: the rules of this level, and those of the other levels that apply.',
  { scope: KeyScope, inbound: PolicyOfDirection, outbound: PolicyOfDirection },
)
export type Policy = Type.Static<typeof Policy>

const PolicyRuleEntry = named('PolicyRuleEntry', 'A rule of the direction that it stands in.', {
  type: RuleType,
  value,
})

const replacement = named(
  'DirectionPolicyReplacement',
  'What is to hold in one direction.',
  {
    mode: PolicyMode,
    rules: Type.Array(PolicyRuleEntry, {
      maxItems: policyRules,
      description: 'They replace the rules of this level.',
    }),
  },
  { examples: [{ mode: 'allowlist', rules: [{ type: 'allow', value: '*.example.com' }] }] },
)
export const PolicyReplacement = named(
  'PolicyReplacement',
  'What is to hold in each direction; one that is left out stays as it is.',
  {
    inbound: Type.Optional(replacement),
    outbound: Type.Optional(replacement),
  },
)
export type PolicyReplacement = Type.Static<typeof PolicyReplacement>

export const PolicyModeChange = named('PolicyModeChange', 'The mode that a direction is to have.', {
  mode: PolicyMode,
  direction: PolicyDirection,
})
export type PolicyModeChange = Type.Static<typeof PolicyModeChange>

export const PolicyRuleCreation = named('PolicyRuleCreation', 'A rule that is to be made.', {
  type: RuleType,
  value,
  direction: PolicyDirection,
})
export type PolicyRuleCreation = Type.Static<typeof PolicyRuleCreation>

export const PolicyAction = oneOf(['mode_changed', 'rule_added', 'rule_removed', 'refused'], {
  title: 'PolicyAction',
  description: 'refused: mail did not come in, or a send was refused. The others: the rules were changed.',
})
export type PolicyAction = Type.Static<typeof PolicyAction>

export const PolicyAuditEntry = named(
  'PolicyAuditEntry',
  'A change of sender rules, or a refusal by them: what was done, where, by which rule and by whom.',
  {
    id: idOf('Names this line of the audit.'),
    podId: nullableText({ description: 'The pod that it is about; null: the account.' }),
    inboxId: nullableText({
      description: 'The inbox that it is about; null: all of the pod, or of the account.',
    }),
    action: PolicyAction,
    direction: PolicyDirection,
    mode: nullableOneOf(['none', 'allowlist', 'inherit'], {
      description: 'The mode that was set; null for other changes and for refusals.',
      examples: ['allowlist'],
    }),
    type: nullableOneOf(['allow', 'block'], {
      description: 'Of the rule that changed or that refused.',
      examples: [null],
    }),
    value: nullableText({ description: 'Of the rule that changed or that refused.' }),
    ruleId: nullableText({ description: 'The rule that changed or that refused; it may be gone.' }),
    address: nullableText({ description: 'The sender or recipient that was refused; null for changes.' }),
    reason: nullableOneOf(['blocked', 'not_allowed', 'unauthenticated'], {
      title: 'PolicyRefusalReason',
      description:
        'Of a refusal. blocked: a block rule names the address. not_allowed: the mode is allowlist, and no allow rule names it. unauthenticated: an allow rule names it, and nothing proves that the sender is the one.',
      examples: [null],
    }),
    keyId: nullableText({
      description: 'The key that was used; null for the operator and for inbound mail.',
    }),
    createdAt: instantOf('When it was changed or refused.'),
  },
)
export type PolicyAuditEntry = Type.Static<typeof PolicyAuditEntry>
