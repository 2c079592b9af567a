import {
  baseAddress,
  domainOf,
  normaliseDomain,
  normaliseMailDomain,
  normaliseRecipient,
} from '../../mail/address/address.ts'
import type { PolicyMode, PolicyWriter, RuleType } from '../../model/policy.ts'

export interface Rule {
  readonly id: string
  readonly type: RuleType
  readonly value: string
}

/**
 * The mode and the rules of one scope, as keys of one kind set them. A pod has two levels: one that
 * account keys set, and one that pod keys set.
 */
export interface PolicyLevel {
  readonly scope: 'account' | 'pod' | 'inbox'
  readonly setBy: PolicyWriter
  readonly mode: PolicyMode
  readonly rules: readonly Rule[]
}

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
      /** The level whose list lacks the address. */
      readonly level: PolicyLevel | null
    }

/** `allowlist` if any level has a list: each list restricts what the others admit. */
export function effectiveMode(levels: readonly PolicyLevel[]): 'none' | 'allowlist' {
  return levels.some(hasList) ? 'allowlist' : 'none'
}

/** Whether an address must be on a list of this level. */
function hasList(level: PolicyLevel): boolean {
  return level.mode === 'allowlist'
}

/** The rules of a level that decide something: block rules always, allow rules if the level has a list. */
export function rulesInForce(level: PolicyLevel): Rule[] {
  return level.rules.filter(rule => rule.type === 'block' || hasList(level))
}

/**
 * A correspondent is refused if a level blocks one of their addresses, and admitted only if each level with a list lists
 * them. No level can loosen another. Block beats allow. An empty allowlist admits nobody.
 */
export function decide(levels: readonly PolicyLevel[], correspondent: Correspondent): Decision {
  const { addresses, allowable, isProven } = correspondent
  const blocks = levels.flatMap(level => level.rules.filter(rule => rule.type === 'block'))
  for (const address of addresses) {
    const values = valuesBlocking(address)
    const rule = blocks.find(one => values.includes(one.value))
    if (rule) return { isPermitted: false, reason: 'blocked', address, rule, level: null }
  }
  const withList = levels.filter(hasList)
  if (withList.length === 0) return { isPermitted: true }
  const values = allowable === null ? [] : valuesMatching(allowable)
  const lists = (level: PolicyLevel) =>
    level.rules.some(rule => rule.type === 'allow' && values.includes(rule.value))
  const level = withList.find(one => !lists(one)) ?? null
  if (!level && isProven) return { isPermitted: true }
  const address = allowable ?? addresses[0] ?? ''
  return { isPermitted: false, reason: level ? 'not_allowed' : 'unauthenticated', address, rule: null, level }
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
