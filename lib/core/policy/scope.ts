import type { Scope } from '../../base/ids.ts'
import { invalidRequest, Problem } from '../../base/problem.ts'
import type { PolicyDirection, PolicyMode, PolicyWriter } from '../../model/policy.ts'
import type { Db } from '../../store/dialect/dialect.ts'
import { listPolicyModes, listPolicyRules } from '../../store/policy.ts'
import type { PolicyModeRow, PolicyRuleRow } from '../../store/tables.ts'
import type { Caller } from '../app/caller.ts'
import { getInboxRow, getPodRow } from '../app/reach.ts'
import type { PolicyLevel, Rule } from './decision.ts'

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

/** All modes and rules from the account to a scope. */
export interface ScopeRows {
  readonly names: readonly string[]
  readonly modes: readonly PolicyModeRow[]
  readonly rules: readonly PolicyRuleRow[]
}

export async function readScope(db: Db, scope: Scope): Promise<ScopeRows> {
  const names = scopeNames(scope)
  return { names, modes: await listPolicyModes(db, names), rules: await listPolicyRules(db, names) }
}

/** A level, and which rows belong to it. */
export interface LevelRows extends PolicyLevel {
  /** How rows name the scope. */
  readonly name: string
  readonly rules: readonly (Rule & PolicyRuleRow)[]
}

const scopes = ['account', 'pod', 'inbox'] as const

/** The levels of one direction: the account, then the pod and the inbox, each as account keys and as pod keys set it. */
export function levelsOf({ names, modes, rules }: ScopeRows, direction: PolicyDirection): LevelRows[] {
  return names.flatMap((name, index) => {
    const writers: readonly PolicyWriter[] = name === accountScope ? ['account'] : ['account', 'pod']
    return writers.map(setBy => {
      const isOf = (row: { scope: string; direction: string; setBy: string }) =>
        row.scope === name && row.direction === direction && row.setBy === setBy
      return {
        name,
        scope: scopes[index]!,
        setBy,
        mode: (modes.find(isOf)?.mode ?? defaultMode(name)) as PolicyMode,
        rules: rules.filter(isOf) as (Rule & PolicyRuleRow)[],
      }
    })
  })
}

/** The mode of a level where none was set. */
function defaultMode(name: string): PolicyMode {
  return name === accountScope ? 'none' : 'inherit'
}
