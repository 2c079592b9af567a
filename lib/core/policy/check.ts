import type { Scope } from '../../base/ids.ts'
import { Problem } from '../../base/problem.ts'
import { baseAddress } from '../../mail/address/address.ts'
import type { PolicyDirection } from '../../model/policy.ts'
import type { Db, WriteDb } from '../../store/dialect/dialect.ts'
import { holdsNothing } from '../../store/dialect/held.ts'
import { type FoundPolicy, findPolicy } from '../../store/policy.ts'
import type { App } from '../app/app.ts'
import type { Caller } from '../app/caller.ts'
import { recordPolicyAudit } from './audit.ts'
import { type Correspondent, type Decision, decide, valuesBlocking } from './decision.ts'
import { levelsOf, scopeNames } from './scope.ts'

export type Refusal = Exclude<Decision, { isPermitted: true }>

/** An inbox as rules see it. */
export interface RuledInbox {
  readonly id: string
  readonly podId: string
}

/**
 * Whom of the correspondents the rules of each inbox refuse: the first refusal of each inbox, by its id. Only the rules
 * that could match are read, for all inboxes at once.
 */
export async function findRefusals(
  db: Db,
  inboxes: readonly RuledInbox[],
  direction: PolicyDirection,
  correspondents: readonly Correspondent[],
): Promise<Map<string, Refusal>> {
  const names = [...new Set(inboxes.flatMap(namesOf))]
  const values = [...new Set(correspondents.flatMap(({ addresses }) => addresses.flatMap(valuesBlocking)))]
  return refusalsBy(await findPolicy(db, names, direction, values), inboxes, direction, correspondents)
}

/** The same by what was found of the rules. */
function refusalsBy(
  { modes, rules }: FoundPolicy,
  inboxes: readonly RuledInbox[],
  direction: PolicyDirection,
  correspondents: readonly Correspondent[],
): Map<string, Refusal> {
  const refusals = new Map<string, Refusal>()
  // Where nobody has set anything all is permitted.
  if (modes.length === 0 && rules.length === 0) return refusals
  for (const inbox of inboxes) {
    const levels = levelsOf({ names: namesOf(inbox), modes, rules }, direction)
    for (const correspondent of correspondents) {
      const decision = decide(levels, correspondent)
      if (decision.isPermitted) continue
      refusals.set(inbox.id, decision)
      break
    }
  }
  return refusals
}

/** The scopes whose rules hold for an inbox. */
function namesOf(inbox: RuledInbox): string[] {
  return scopeNames({ podId: inbox.podId, inboxId: inbox.id })
}

/** Writes a refusal into the audit. */
export async function recordRefusal(
  app: App,
  db: WriteDb,
  scope: Scope,
  direction: PolicyDirection,
  { rule, address, reason }: Refusal,
  keyId: string | null,
): Promise<void> {
  await recordPolicyAudit(app, db, scope, {
    action: 'refused',
    direction,
    address,
    reason,
    type: rule?.type ?? null,
    value: rule?.value ?? null,
    ruleId: rule?.id ?? null,
    keyId,
  })
}

/** The sender rules of an inbox do not permit a recipient. */
class NotPermitted extends Problem {
  readonly refusal: Refusal

  constructor(refusal: Refusal) {
    const { address, reason, rule, level } = refusal
    const message =
      reason === 'blocked'
        ? `A sender rule blocks ${address} (${rule?.value}). Nothing was sent.`
        : `${address} is not on the allowlist of the ${level?.scope}, set by ${level?.setBy === 'pod' ? 'pod keys' : 'account keys'}. Nothing was sent. Add an allow rule there, or ask the operator to add it.`
    super('recipient_not_permitted', message, { recipient: address })
    this.refusal = refusal
  }
}

/**
 * Asks whether an inbox may write to these addresses.
 * @param addresses the recipients and the Reply-To; the inbox's own address is always permitted
 * @throws NotPermitted
 */
export async function requirePermitted(
  db: Db,
  inbox: RuledInbox & { readonly address: string },
  addresses: readonly string[],
): Promise<void> {
  const { scopes, values } = askedOfRules(inbox, addresses)
  requirePermittedBy(await findPolicy(db, scopes, 'outbound', values), inbox, addresses)
}

/** By which names and values the rules are to be found that say whether an inbox may write to these addresses. */
export function askedOfRules(
  inbox: RuledInbox & { readonly address: string },
  addresses: readonly string[],
): { scopes: string[]; values: string[] } {
  const values = others(inbox, addresses).flatMap(valuesBlocking)
  return { scopes: namesOf(inbox), values: [...new Set(values)] }
}

/** The same as `requirePermitted` by what was found of the rules. @throws NotPermitted */
export function requirePermittedBy(
  found: FoundPolicy,
  inbox: RuledInbox & { readonly address: string },
  addresses: readonly string[],
): void {
  const correspondents = others(inbox, addresses).map(address => {
    return { addresses: [address], allowable: address, isProven: true }
  })
  const refusal = refusalsBy(found, [inbox], 'outbound', correspondents).get(inbox.id)
  if (refusal) throw new NotPermitted(refusal)
}

function others(inbox: { readonly address: string }, addresses: readonly string[]): string[] {
  return addresses.filter(address => baseAddress(address) !== inbox.address)
}

/** Does `work`; where sender rules refuse it, that stands in the audit, although nothing else of it was written. */
export async function auditingRefusals<Result>(
  app: App,
  caller: Caller,
  inbox: RuledInbox,
  work: () => Promise<Result>,
): Promise<Result> {
  return work().catch(async error => {
    if (error instanceof NotPermitted) {
      const scope = { podId: inbox.podId, inboxId: inbox.id }
      await app.store.writeHolding(holdsNothing, db =>
        recordRefusal(app, db, scope, 'outbound', error.refusal, caller.keyId),
      )
    }
    throw error
  })
}
