import { invalidRequest, Problem } from '../../base/problem.ts'
import type { Scope } from '../../base/scope.ts'
import type { PolicyDirection, PolicyMode, RuleType } from '../../model/policy.ts'
import type { Db } from '../../store/dialect/dialect.ts'
import { listPolicyModes, listPolicyRules } from '../../store/policy.ts'
import type { PolicyModeRow, PolicyRuleRow } from '../../store/tables.ts'
import type { Caller } from '../app/caller.ts'
import { getInboxRow, getPodRow } from '../app/reach.ts'
import type { PolicyChain } from './decision.ts'

export const accountScope = 'account'

/** How rows name the scopes from the account to this one. */
export function scopeNames({ podId, inboxId }: Scope): string[] {
  return [accountScope, ...(podId === null ? [] : [podId]), ...(inboxId === null ? [] : [inboxId])]
}

/** How rows name this scope. */
export function scopeName({ podId, inboxId }: Scope): string {
  return inboxId ?? podId ?? accountScope
}

/**
 * The scope that a request names, if the caller manages it.
 * @param named `pod` is an id or clientId, `inbox` an id or address
 * @throws Problem `invalid_request` for both at once, `not_found`, `forbidden` to a pod key for the account's
 */
export async function requireScope(
  db: Db,
  caller: Caller,
  named: { pod?: string | undefined; inbox?: string | undefined },
): Promise<Scope> {
  if (named.pod !== undefined && named.inbox !== undefined) {
    throw invalidRequest('query/podId', 'must not stand beside inboxId: give one of them')
  }
  if (named.inbox !== undefined) {
    const inbox = await getInboxRow(db, caller, named.inbox)
    return { podId: inbox.podId, inboxId: inbox.id }
  }
  if (named.pod !== undefined) {
    return { podId: (await getPodRow(db, caller, named.pod)).id, inboxId: null }
  }
  if (caller.podId !== null) {
    throw new Problem('forbidden', "This takes an account-wide key. Name the key's pod with podId.")
  }
  return { podId: null, inboxId: null }
}

/** All that is set from the account to a scope. */
export interface ScopeRows {
  readonly names: readonly string[]
  readonly modes: readonly PolicyModeRow[]
  readonly rules: readonly PolicyRuleRow[]
}

export async function readScope(db: Db, scope: Scope): Promise<ScopeRows> {
  const names = scopeNames(scope)
  return { names, modes: await listPolicyModes(db, names), rules: await listPolicyRules(db, names) }
}

/** The chain of one direction that these rows make. */
export function chainOf({ names, modes, rules }: ScopeRows, direction: PolicyDirection): PolicyChain {
  return names.flatMap(name => {
    const mode = modes.find(row => row.scope === name && row.direction === direction)
    const own = rules
      .filter(row => row.scope === name && row.direction === direction)
      .map(({ id, type, value, isTenants }) => ({
        id,
        type: type as RuleType,
        value,
        isTenants: isTenants === 1,
      }))
    const accounts = { mode: modeOf(name, mode, false), rules: own.filter(rule => !rule.isTenants) }
    // The account's own rules are its alone.
    if (name === accountScope) return [accounts]
    const tenants = { mode: modeOf(name, mode, true), rules: own.filter(rule => rule.isTenants) }
    return [accounts, { ...tenants, isTenants: true }]
  })
}

/** The mode of a scope where none was set. */
export function defaultMode(name: string): PolicyMode {
  return name === accountScope ? 'none' : 'inherit'
}

function modeOf(name: string, row: PolicyModeRow | undefined, isTenants: boolean): PolicyMode {
  if (!row || (row.isTenants === 1) !== isTenants) return defaultMode(name)
  // A tenant's `none` takes nothing away from a list that is set around it, now or later.
  return isTenants && row.mode === 'none' ? 'inherit' : (row.mode as PolicyMode)
}
