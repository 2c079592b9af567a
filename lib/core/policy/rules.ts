import { isId, type Scope } from '../../base/ids.ts'
import {
  type FoundFault,
  faultsOf,
  faultsOfText,
  type Given,
  invalidRequest,
  Problem,
  policyRules,
} from '../../base/problem.ts'

import type {
  Policy,
  PolicyDirection,
  PolicyMode,
  PolicyModeChange,
  PolicyOfDirection,
  PolicyReplacement,
  PolicyRule,
  PolicyRuleCreation,
  PolicyWriter,
} from '../../model/policy.ts'
import type { Db, WriteDb } from '../../store/dialect/dialect.ts'
import { findInbox } from '../../store/inboxes.ts'
import { findPod } from '../../store/pods.ts'
import { deletePolicyRule, findPolicyRule, insertPolicyRule, setPolicyMode } from '../../store/policy.ts'
import type { PolicyRuleRow } from '../../store/tables.ts'
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

/** The level that a request names: a pod by id or clientId, or an inbox; without either, the account. */
export interface NamedScope {
  readonly pod?: string | undefined
  readonly inbox?: string | undefined
  /** What keys of this kind set there; unless given, keys of the caller's kind. */
  readonly setBy?: PolicyWriter | undefined
}

const directions = ['inbound', 'outbound'] as const

/** A scope, and whose level of it a request is about. */
interface Level extends Scope {
  readonly setBy: PolicyWriter
}

/** @throws Problem as `requireScope`; `forbidden` to a pod key for what account keys set, `invalid_request` for what pod keys set for the account */
async function requireLevel(db: Db, caller: Caller, named: NamedScope): Promise<Level> {
  const scope = await requireScope(db, caller, named)
  const own = caller.podId === null ? 'account' : 'pod'
  const { setBy = own } = named
  if (setBy === 'account' && own === 'pod') {
    throw new Problem('forbidden', 'Only an account key changes what account keys set.')
  }
  if (setBy === 'pod' && scope.podId === null) {
    throw invalidRequest(
      'query/setBy',
      'must be left out for the account: pod keys set rules for pods and inboxes only',
    )
  }
  return { ...scope, setBy }
}

function levelOf(levels: readonly LevelRows[], level: Level): LevelRows {
  return levels.find(one => one.name === scopeName(level) && one.setBy === level.setBy)!
}

function present(level: Level, rows: ScopeRows): Policy {
  const { podId, inboxId } = level
  return {
    scope: podId === null ? 'account' : { podId, inboxId },
    inbound: presentDirection(level, levelsOf(rows, 'inbound')),
    outbound: presentDirection(level, levelsOf(rows, 'outbound')),
  }
}

function presentDirection(level: Level, levels: readonly LevelRows[]): PolicyOfDirection {
  const own = levelOf(levels, level)
  const others = levels.filter(one => one !== own)
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

/** @throws Problem as `requireLevel` */
export async function getPolicy(app: Rows, caller: Caller, named: NamedScope): Promise<Policy> {
  const level = await requireLevel(app.store.read, caller, named)
  return present(level, await readScope(app.store.read, level))
}

/**
 * Replaces the mode and the rules of the caller's level in the directions that are given. A rule that stays keeps its id.
 * @throws Problem as `requireLevel`; `invalid_request`
 */
export async function replacePolicy(
  app: App,
  caller: Caller,
  named: NamedScope,
  replacement: PolicyReplacement,
): Promise<Policy> {
  return app.store.write(async db => {
    const at = await requireLevel(db, caller, named)
    const rows = await readScope(db, at)
    for (const direction of directions) {
      const wanted = replacement[direction]
      if (!wanted) continue
      const level = levelOf(levelsOf(rows, direction), at)
      await applyMode(app, db, caller, at, level, direction, wanted.mode)
      const values = new Map(
        wanted.rules.map(({ type, value }, index) => {
          const normal = requireValue(value, `/${direction}/rules/${index}/value`)
          return [`${type} ${normal}`, { type, value: normal, direction }]
        }),
      )
      for (const row of level.rules) {
        if (!values.delete(`${row.type} ${row.value}`)) await dropRule(app, db, caller, at, row)
      }
      for (const rule of values.values()) await makeRule(app, db, caller, at, rule)
    }
    return present(at, await readScope(db, at))
  })
}

/** @throws Problem as `requireLevel`; `invalid_request` for `inherit` of the account */
export async function changePolicyMode(
  app: App,
  caller: Caller,
  named: NamedScope,
  { mode, direction }: PolicyModeChange,
): Promise<Policy> {
  return app.store.write(async db => {
    const at = await requireLevel(db, caller, named)
    const level = levelOf(levelsOf(await readScope(db, at), direction), at)
    await applyMode(app, db, caller, at, level, direction, mode)
    return present(at, await readScope(db, at))
  })
}

/** @throws Problem as `requireLevel`; `invalid_request`, `rule_exists`, `rule_limit_reached` */
export async function addPolicyRule(
  app: App,
  caller: Caller,
  named: NamedScope,
  request: PolicyRuleCreation,
): Promise<PolicyRule> {
  const value = requireValue(request.value, '/value')
  return app.store.write(async db => {
    const level = await requireLevel(db, caller, named)
    const { type, direction } = request
    const { rules } = levelOf(levelsOf(await readScope(db, level), direction), level)
    if (rules.some(row => row.type === type && row.value === value)) throw new Problem('rule_exists')
    if (rules.length >= policyRules) throw new Problem('rule_limit_reached')
    return presentRule(await makeRule(app, db, caller, level, { type, value, direction }))
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
    if (caller.podId !== null && row.setBy === 'account') {
      throw new Problem('inherited_rule', 'An account key made this rule. Only an account key can delete it.')
    }
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
    for (const [index, rule] of rules.slice(0, policyRules).entries()) {
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
  await setPolicyMode(db, { scope: before.name, setBy: before.setBy, direction, mode })
  await recordPolicyAudit(app, db, scope, { action: 'mode_changed', direction, mode, keyId: caller.keyId })
}

async function makeRule(
  app: App,
  db: WriteDb,
  caller: Caller,
  level: Level,
  { type, value, direction }: PolicyRuleCreation,
): Promise<PolicyRuleRow> {
  const row: PolicyRuleRow = {
    id: app.ids.next(),
    scope: scopeName(level),
    setBy: level.setBy,
    direction,
    type,
    value,
    createdAt: app.clock.now().toISOString(),
  }
  await insertPolicyRule(db, row)
  const told = { direction, type, value, ruleId: row.id, keyId: caller.keyId }
  await recordPolicyAudit(app, db, level, { action: 'rule_added', ...told })
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
  const { id: ruleId, value } = row
  const type = row.type as PolicyRule['type']
  const direction = row.direction as PolicyDirection
  const told = { direction, type, value, ruleId, keyId: caller.keyId }
  await recordPolicyAudit(app, db, scope, { action: 'rule_removed', ...told })
}
