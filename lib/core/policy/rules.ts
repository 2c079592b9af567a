import { type FoundFault, faultsOf, faultsOfText, type Given } from '../../base/found-faults.ts'
import { isId } from '../../base/ids.ts'
import { limits } from '../../base/limits.ts'
import { invalidRequest, Problem } from '../../base/problem.ts'
import type { Scope } from '../../base/scope.ts'
import type {
  Policy,
  PolicyDirection,
  PolicyMode,
  PolicyModeChange,
  PolicyOfDirection,
  PolicyReplacement,
  PolicyRule,
  PolicyRuleCreation,
} from '../../model/policy.ts'
import type { Db, WriteDb } from '../../store/dialect/dialect.ts'
import { findInbox } from '../../store/inboxes.ts'
import { findPod } from '../../store/pods.ts'
import { deletePolicyRule, findPolicyRule, insertPolicyRule, setPolicyMode } from '../../store/policy.ts'
import type { PolicyRuleRow, PolicyWriter } from '../../store/tables.ts'
import type { App, Rows } from '../app/app.ts'
import { type Caller, reachesInbox, reachesPod } from '../app/caller.ts'
import { recordPolicyAudit } from './audit.ts'
import { effectiveMode, normalisePolicyValue, rulesInForce } from './decision.ts'
import {
  accountScope,
  type LevelRows,
  levelsOf,
  readScope,
  requireScope,
  type ScopeRows,
  scopeName,
  scopeNames,
} from './scope.ts'

/** The scope that a request names: a pod by id or clientId, or an inbox; without either, the account. */
export interface NamedScope {
  readonly pod?: string | undefined
  readonly inbox?: string | undefined
}

const directions = ['inbound', 'outbound'] as const

/** Whose level a caller reads and writes: account keys and pod keys set the same scope apart from each other. */
function writerOf(caller: Caller): PolicyWriter {
  return caller.podId === null ? 'account' : 'pod'
}

/** The level of a scope that the caller writes. */
function ownLevel(levels: readonly LevelRows[], caller: Caller, scope: Scope): LevelRows {
  return levels.find(level => level.scope === scopeName(scope) && level.setBy === writerOf(caller))!
}

function present(scope: Scope, caller: Caller, rows: ScopeRows): Policy {
  const { podId, inboxId } = scope
  return {
    scope: podId === null ? 'account' : { podId, inboxId },
    inbound: presentDirection(scope, caller, levelsOf(rows, 'inbound')),
    outbound: presentDirection(scope, caller, levelsOf(rows, 'outbound')),
  }
}

function presentDirection(scope: Scope, caller: Caller, levels: readonly LevelRows[]): PolicyOfDirection {
  const own = ownLevel(levels, caller, scope)
  const others = levels.filter(level => level !== own)
  return {
    mode: own.mode,
    effectiveMode: effectiveMode(levels),
    rules: own.rules.map(presentRule),
    inheritedRules: others.flatMap(rulesInForce).map(rule => presentRule(rule as PolicyRuleRow)),
  }
}

function presentRule({ id, type, value, direction, createdAt }: PolicyRuleRow): PolicyRule {
  return {
    id,
    type: type as PolicyRule['type'],
    value,
    direction: direction as PolicyDirection,
    createdAt,
  }
}

/** @throws Problem as `requireScope` */
export async function getPolicy(app: Rows, caller: Caller, named: NamedScope): Promise<Policy> {
  const scope = await requireScope(app.store.read, caller, named)
  return present(scope, caller, await readScope(app.store.read, scope))
}

/**
 * Replaces the mode and the rules of the caller's level in the directions that are given. A rule that stays keeps its id.
 * @throws Problem as `requireScope`; `invalid_request`
 */
export async function replacePolicy(
  app: App,
  caller: Caller,
  named: NamedScope,
  replacement: PolicyReplacement,
): Promise<Policy> {
  return app.store.write(async db => {
    const scope = await requireScope(db, caller, named)
    const rows = await readScope(db, scope)
    for (const direction of directions) {
      const wanted = replacement[direction]
      if (!wanted) continue
      const level = ownLevel(levelsOf(rows, direction), caller, scope)
      await applyMode(app, db, caller, scope, level, direction, wanted.mode)
      const values = new Map(
        wanted.rules.map(({ type, value }, index) => {
          const normal = requireValue(value, `/${direction}/rules/${index}/value`)
          return [`${type} ${normal}`, { type, value: normal, direction }]
        }),
      )
      for (const row of level.rules) {
        if (!values.delete(`${row.type} ${row.value}`)) await dropRule(app, db, caller, scope, row)
      }
      for (const rule of values.values()) await makeRule(app, db, caller, scope, rule)
    }
    return present(scope, caller, await readScope(db, scope))
  })
}

/** @throws Problem as `requireScope`; `invalid_request` for `inherit` of the account */
export async function changePolicyMode(
  app: App,
  caller: Caller,
  named: NamedScope,
  { mode, direction }: PolicyModeChange,
): Promise<Policy> {
  return app.store.write(async db => {
    const scope = await requireScope(db, caller, named)
    const level = ownLevel(levelsOf(await readScope(db, scope), direction), caller, scope)
    await applyMode(app, db, caller, scope, level, direction, mode)
    return present(scope, caller, await readScope(db, scope))
  })
}

/** @throws Problem as `requireScope`; `invalid_request`, `rule_exists`, `rule_limit_reached` */
export async function addPolicyRule(
  app: App,
  caller: Caller,
  named: NamedScope,
  request: PolicyRuleCreation,
): Promise<PolicyRule> {
  const value = requireValue(request.value, '/value')
  return app.store.write(async db => {
    const scope = await requireScope(db, caller, named)
    const { type, direction } = request
    const { rules } = ownLevel(levelsOf(await readScope(db, scope), direction), caller, scope)
    if (rules.some(row => row.type === type && row.value === value)) throw new Problem('rule_exists')
    if (rules.length >= limits.policyRules) throw new Problem('rule_limit_reached')
    return presentRule(await makeRule(app, db, caller, scope, { type, value, direction }))
  })
}

/**
 * Deletes a rule: of the scope that is named or, when none is, of any that the caller manages.
 * @throws Problem as `requireScope`; `not_found`; `inherited_rule` for one of a wider scope, or one that an account key made
 * if a pod key asks
 */
export async function deleteRule(app: App, caller: Caller, named: NamedScope, id: string): Promise<void> {
  await app.store.write(async db => {
    const row = isId(id) ? await findPolicyRule(db, id.toLowerCase()) : undefined
    const isNamed = named.pod !== undefined || named.inbox !== undefined
    const wanted = isNamed ? await requireScope(db, caller, named) : undefined
    const scope = row && (await scopeOfRule(db, row))
    if (!row || !scope) throw noSuchRule()
    if (wanted && scopeName(wanted) !== row.scope) {
      throw scopeNames(wanted).includes(row.scope) ? new Problem('inherited_rule') : noSuchRule()
    }
    if (caller.podId !== null && scope.podId === null) throw new Problem('inherited_rule')
    if (scope.podId !== null && !reachesPod(caller, scope.podId)) throw noSuchRule()
    if (scope.inboxId !== null && !reachesInbox(caller, { id: scope.inboxId, podId: scope.podId ?? '' })) {
      throw noSuchRule()
    }
    if (caller.podId !== null && row.setBy === 'account') throw new Problem('inherited_rule')
    await dropRule(app, db, caller, scope, row)
  })
}

/** A rule by its id, of whatever scope (for the operator). @throws Problem `not_found` */
export async function getRule({ store }: Rows, id: string): Promise<PolicyRule> {
  const row = isId(id) ? await findPolicyRule(store.read, id.toLowerCase()) : undefined
  if (!row) throw noSuchRule()
  return presentRule(row)
}

function noSuchRule(): Problem {
  return new Problem('not_found', 'There is no such rule.')
}

async function scopeOfRule(db: Db, row: PolicyRuleRow): Promise<Scope | undefined> {
  if (row.scope === accountScope) return { podId: null, inboxId: null }
  const inbox = await findInbox(db, row.scope)
  if (inbox) return { podId: inbox.podId, inboxId: inbox.id }
  return (await findPod(db, row.scope)) && { podId: row.scope, inboxId: null }
}

/** What no schema says of rules that are to be made: their values, and a mode that the account can't have. */
export function* policyFaults(given: Given): Generator<FoundFault> {
  yield* faultsOfText(given, 'value', text => requireValue(text, '/value'))
  for (const direction of ['inbound', 'outbound']) {
    const { rules } = (given[direction] ?? {}) as { rules?: unknown }
    if (!Array.isArray(rules)) continue
    for (const [index, rule] of rules.slice(0, limits.policyRules).entries()) {
      const { value } = (rule ?? {}) as { value?: unknown }
      const path = `/${direction}/rules/${index}/value`
      if (typeof value === 'string') yield* faultsOf(path, () => requireValue(value, path))
    }
  }
}

function requireValue(text: string, path: string): string {
  const value = normalisePolicyValue(text)
  if (value !== undefined) return value
  throw invalidRequest(
    `body${path}`,
    'must be an address, a domain (example.com, @example.com, *@example.com) or a domain with its subdomains (*.example.com)',
  )
}

async function applyMode(
  app: App,
  db: WriteDb,
  caller: Caller,
  scope: Scope,
  before: LevelRows,
  direction: PolicyDirection,
  mode: PolicyMode,
): Promise<void> {
  if (mode === 'inherit' && scope.podId === null) {
    throw invalidRequest('body/mode', 'must be none or allowlist: the account has nothing to inherit from')
  }
  if (before.mode === mode) return
  await setPolicyMode(db, { scope: before.scope, setBy: before.setBy, direction, mode })
  await recordPolicyAudit(app, db, scope, { action: 'mode_changed', direction, mode, keyId: caller.keyId })
}

async function makeRule(
  app: App,
  db: WriteDb,
  caller: Caller,
  scope: Scope,
  { type, value, direction }: PolicyRuleCreation,
): Promise<PolicyRuleRow> {
  const row: PolicyRuleRow = {
    id: app.ids.next(),
    scope: scopeName(scope),
    setBy: writerOf(caller),
    direction,
    type,
    value,
    createdAt: app.clock.now().toISOString(),
  }
  await insertPolicyRule(db, row)
  const told = { direction, type, value, ruleId: row.id, keyId: caller.keyId }
  await recordPolicyAudit(app, db, scope, { action: 'rule_added', ...told })
  return row
}

async function dropRule(
  app: App,
  db: WriteDb,
  caller: Caller,
  scope: Scope,
  row: PolicyRuleRow,
): Promise<void> {
  await deletePolicyRule(db, row.id)
  const { type, value, id: ruleId, direction } = presentRule(row)
  const told = { direction, type, value, ruleId, keyId: caller.keyId }
  await recordPolicyAudit(app, db, scope, { action: 'rule_removed', ...told })
}
