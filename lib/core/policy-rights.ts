import { Problem } from '../base/problem.ts'
import type { PolicyMode, RuleType } from '../model/policy.ts'
import type { Caller } from './caller.ts'
import { effectiveMode, type PolicyChain, rulesInForce } from './policy-decision.ts'
import { isCovered } from './policy-value.ts'

/**
 * A pod key only tightens what the wider scopes have set.
 * @param parents the chain without the scope that is changed
 * @throws Problem `forbidden`
 */
export function requireModeWithin(caller: Caller, parents: PolicyChain, mode: PolicyMode): void {
  if (caller.podId === null || mode !== 'none' || effectiveMode(parents).mode === 'none') return
  throw new Problem(
    'forbidden',
    'An allowlist is in force above this scope, and a pod key can only tighten it.',
  )
}

/** The same for a rule: what a wider list does not admit, a pod key does not admit either. @throws Problem `forbidden` */
export function requireRuleWithin(
  caller: Caller,
  parents: PolicyChain,
  { type, value }: { type: RuleType; value: string },
): void {
  if (caller.podId === null || type === 'block' || effectiveMode(parents).mode === 'none') return
  const allowed = rulesInForce(parents).filter(rule => rule.type === 'allow')
  if (
    isCovered(
      value,
      allowed.map(rule => rule.value),
    )
  )
    return
  throw new Problem(
    'forbidden',
    `The allowlist above this scope does not admit ${value}, and a pod key can only tighten it.`,
  )
}
