import { Problem } from '../../base/problem.ts'
import {
  baseAddress,
  domainOf,
  normaliseDomain,
  normaliseMailDomain,
  normaliseRecipient,
} from '../../mail/address/address.ts'
import type { PolicyMode, RuleType } from '../../model/policy.ts'
import type { Caller } from '../app/caller.ts'

export interface Rule {
  readonly id: string
  readonly type: RuleType
  readonly value: string
  /** Whether a pod key made it: then it lets nobody in whom the wider scopes keep out. */
  readonly isTenants: boolean
}

/** What is set in one scope for one direction: by the account, or within that by a pod key. */
export interface ScopePolicy {
  readonly mode: PolicyMode
  readonly rules: readonly Rule[]
  /** It is what a pod key set; what the account set in the same scope stands before it. */
  readonly isTenants?: boolean
}

/**
 * From the account over the pod to the inbox, as far as the scope in question goes; of each scope first what the account
 * set, so that a pod key is held within that, too.
 */
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
  // A pod key's mode is that of the scope, and what the account allowed in the scope is in force with it.
  const first = chain[setAt]?.isTenants ? setAt - 1 : setAt
  return chain.flatMap((scope, index) => scope.rules.filter(rule => rule.type === 'block' || index >= first))
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

/**
 * The value of a sender rule in the one form that is stored and compared: an address; a domain, which is also written
 * `@domain` and `*@domain`; or `*.domain`, which may be a whole `*.top-level`. Lower-case, A-labels. Undefined for what is none
 * of these.
 */
export function normalisePolicyValue(text: string): string | undefined {
  if (text.startsWith('*.')) {
    const domain = normaliseDomain(text.slice(2))
    return domain && `*.${domain}`
  }
  if (text.startsWith('*@')) return mailDomain(text.slice(2))
  if (text.startsWith('@')) return mailDomain(text.slice(1))
  if (!text.includes('@')) return mailDomain(text)
  const address = normaliseRecipient(text)
  // RFC 5322 allows a star in an address; whoever writes one here means a pattern, which this is not.
  return address?.includes('*') ? undefined : address
}

/** A domain that mail can come from: one label alone (`gmail`) is a slip, of which nobody would hear that it matches nothing. */
function mailDomain(text: string): string | undefined {
  const domain = normaliseMailDomain(text)
  return domain !== undefined && /[.[]/.test(domain) ? domain : undefined
}

/** The values of all the rules that match an address (in the form of `normaliseAddress`). */
function valuesMatching(address: string): string[] {
  return [address, ...valuesMatchingDomain(domainOf(address))]
}

/** The same for a rule that blocks: `user+tag` is `user`, so that no tag gets around it. */
export function valuesBlocking(address: string): string[] {
  const base = baseAddress(address)
  return base === address ? valuesMatching(address) : [base, ...valuesMatching(address)]
}

function valuesMatchingDomain(domain: string): string[] {
  const labels = domain.split('.')
  return [domain, ...labels.map((_, index) => `*.${labels.slice(index).join('.')}`)]
}

/** Whether everything that `value` matches is matched by one of `others` alone. */
export function isCovered(value: string, others: readonly string[]): boolean {
  const wider = value.startsWith('*.')
    ? valuesMatchingDomain(value.slice(2)).slice(1)
    : value.includes('@')
      ? valuesMatching(value)
      : valuesMatchingDomain(value)
  return wider.some(one => others.includes(one))
}

/**
 * What the account has set on a pod and its inboxes is not a pod key's to change or take away, be it to tighten.
 * @param set a rule or a mode that is there; `inherit` is none
 * @throws Problem `forbidden`
 */
export function requireOwn(
  caller: Caller,
  set: { readonly isTenants: number; readonly mode?: string; readonly value?: string },
): void {
  if (caller.podId === null || set.isTenants === 1 || set.mode === 'inherit') return
  const what = set.value === undefined ? 'this mode' : `the rule for ${set.value}`
  throw new Problem('forbidden', `The account has set ${what}, and a pod key can not change that.`)
}

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
