import type { PolicyMode, RuleType } from '../model/policy.ts'
import { valuesBlocking, valuesMatching } from './policy-value.ts'

export interface Rule {
  readonly id: string
  readonly type: RuleType
  readonly value: string
  /** Whether a pod key made it: then it lets nobody in whom the wider scopes keep out. */
  readonly isTenants: boolean
}

/** What is set in one scope for one direction. */
export interface ScopePolicy {
  readonly mode: PolicyMode
  readonly rules: readonly Rule[]
}

/** From the account over the pod to the inbox, as far as the scope in question goes. */
export type PolicyChain = readonly ScopePolicy[]

/** Whom a decision is about. */
export interface Correspondent {
  /** All their addresses: From and reverse-path inbound, the recipient outbound. A block rule matches any of them. */
  readonly addresses: readonly string[]
  /** The one that an allow rule may match; null when there is none. */
  readonly allowable: string | null
  /** Whether that one is known to be theirs. */
  readonly isProven: boolean
}

export type Decision =
  | { readonly isPermitted: true }
  | {
      readonly isPermitted: false
      readonly reason: 'blocked' | 'not_allowed' | 'unauthenticated'
      readonly address: string
      /** The rule that blocks. */
      readonly rule: Rule | null
    }

/** Which scope's mode is in force: the narrowest that does not inherit. The account, which can't, has `none` then. */
export function effectiveMode(chain: PolicyChain): { mode: 'none' | 'allowlist'; setAt: number } {
  const setAt = Math.max(
    chain.findLastIndex(scope => scope.mode !== 'inherit'),
    0,
  )
  return { mode: chain[setAt]?.mode === 'allowlist' ? 'allowlist' : 'none', setAt }
}

/**
 * The rules in force at the end of the chain: every block rule, and the allow rules of the scope whose mode is in force
 * and of those within it. A list that is set anew replaces what the wider scopes allow.
 */
export function rulesInForce(chain: PolicyChain): Rule[] {
  const { setAt } = effectiveMode(chain)
  return chain.flatMap((scope, index) => scope.rules.filter(rule => rule.type === 'block' || index >= setAt))
}

/** Block beats allow, at every scope and in every mode. An empty allowlist admits nobody. */
export function decide(chain: PolicyChain, correspondent: Correspondent): Decision {
  const { addresses, allowable, isProven } = correspondent
  const rules = rulesInForce(chain)
  for (const address of addresses) {
    const values = valuesBlocking(address)
    const rule = rules.find(one => one.type === 'block' && values.includes(one.value))
    if (rule) return { isPermitted: false, reason: 'blocked', address, rule }
  }
  if (effectiveMode(chain).mode === 'none') return { isPermitted: true }
  const isAllowed = allowable !== null && isListed(chain, valuesMatching(allowable))
  if (isAllowed && isProven) return { isPermitted: true }
  const address = allowable ?? addresses[0] ?? ''
  return { isPermitted: false, reason: isAllowed ? 'unauthenticated' : 'not_allowed', address, rule: null }
}

/** Whether one of the values stands on the list in force; on a tenant's, only where the lists around it have it, too. */
function isListed(chain: PolicyChain, values: readonly string[]): boolean {
  const inForce = new Set(rulesInForce(chain))
  return chain.some((scope, index) =>
    scope.rules.some(rule => {
      if (rule.type !== 'allow' || !inForce.has(rule) || !values.includes(rule.value)) return false
      const around = chain.slice(0, index)
      return !rule.isTenants || effectiveMode(around).mode === 'none' || isListed(around, values)
    }),
  )
}
