import Type from 'typebox'
import { limits } from '../base/limits.ts'
import { Id, Instant, nullableOneOf, nullableText, oneOf, shape } from './shape.ts'

export const PolicyDirection = oneOf(['inbound', 'outbound'])
export type PolicyDirection = Type.Static<typeof PolicyDirection>

export const PolicyMode = oneOf(['none', 'allowlist', 'inherit'], {
  description:
    'none: all but what a block rule names. allowlist: only what an allow rule names. inherit: as the pod or the account has it.',
})
export type PolicyMode = Type.Static<typeof PolicyMode>

export const RuleType = oneOf(['allow', 'block'])
export type RuleType = Type.Static<typeof RuleType>

const value = Type.String({
  minLength: 1,
  maxLength: limits.policyValueLength,
  description:
    'An address; example.com, @example.com or *@example.com for that exact domain; *.example.com for it and every subdomain.',
  examples: ['*.example.com'],
})

export const PolicyRule = shape(
  { id: Id, type: RuleType, value, direction: PolicyDirection, createdAt: Instant },
  { description: 'A sender rule. Block beats allow, at every scope and in every mode.' },
)
export type PolicyRule = Type.Static<typeof PolicyRule>

export const KeyScope = Type.Unsafe<'account' | { podId: string; inboxId: string | null }>({
  examples: ['account'],
  oneOf: [
    { const: 'account' },
    {
      type: 'object',
      properties: { podId: { type: 'string' }, inboxId: { type: ['string', 'null'] } },
      required: ['podId', 'inboxId'],
      additionalProperties: false,
    },
  ],
})
export type KeyScope = Type.Static<typeof KeyScope>

const PolicyOfDirection = shape({
  mode: PolicyMode,
  effectiveMode: oneOf(['none', 'allowlist'], { description: 'The mode in force after inheritance.' }),
  rules: Type.Array(PolicyRule, { examples: [[]] }),
  inheritedRules: Type.Array(PolicyRule, {
    examples: [[]],
    description: 'The rules of the pod and the account that are in force here too.',
  }),
})
export type PolicyOfDirection = Type.Static<typeof PolicyOfDirection>

export const Policy = shape(
  { scope: KeyScope, inbound: PolicyOfDirection, outbound: PolicyOfDirection },
  { description: 'Who may write to the inboxes of a scope, and to whom they may write.' },
)
export type Policy = Type.Static<typeof Policy>

const replacement = shape(
  {
    mode: PolicyMode,
    rules: Type.Array(shape({ type: RuleType, value }), { maxItems: limits.policyRules }),
  },
  { examples: [{ mode: 'allowlist', rules: [{ type: 'allow', value: '*.example.com' }] }] },
)
export const PolicyReplacement = shape({
  inbound: Type.Optional(replacement),
  outbound: Type.Optional(replacement),
})
export type PolicyReplacement = Type.Static<typeof PolicyReplacement>

export const PolicyModeChange = shape({ mode: PolicyMode, direction: PolicyDirection })
export type PolicyModeChange = Type.Static<typeof PolicyModeChange>

export const PolicyRuleCreation = shape({ type: RuleType, value, direction: PolicyDirection })
export type PolicyRuleCreation = Type.Static<typeof PolicyRuleCreation>

export const PolicyAction = oneOf(['mode_changed', 'rule_added', 'rule_removed', 'refused'])
export type PolicyAction = Type.Static<typeof PolicyAction>

export const PolicyAuditEntry = shape(
  {
    id: Id,
    podId: nullableText({ description: 'The pod that it is about; null: the account.' }),
    inboxId: nullableText({ description: 'The inbox that it is about.' }),
    action: PolicyAction,
    direction: PolicyDirection,
    mode: nullableOneOf(['none', 'allowlist', 'inherit'], {
      description: 'The mode that was set.',
      examples: ['allowlist'],
    }),
    type: nullableOneOf(['allow', 'block'], {
      description: 'Of the rule that changed or that refused.',
      examples: [null],
    }),
    value: nullableText({ description: 'Of the rule that changed or that refused.' }),
    ruleId: nullableText(),
    address: nullableText({ description: 'The sender or recipient that was refused.' }),
    reason: nullableOneOf(['blocked', 'not_allowed', 'unauthenticated'], {
      description: 'Why it was refused.',
      examples: [null],
    }),
    keyId: nullableText({
      description: 'The key that was used; null for the operator and for inbound mail.',
    }),
    createdAt: Instant,
  },
  { description: 'A change of sender rules, or a refusal by them.' },
)
export type PolicyAuditEntry = Type.Static<typeof PolicyAuditEntry>
