import type { Scope } from '../../base/ids.ts'

import { invalidRequest } from '../../base/problem.ts'
import { isoAfter, readInstant } from '../../base/time.ts'
import type { Listed, Page } from '../../model/page.ts'
import type { PolicyAction, PolicyAuditEntry, PolicyDirection } from '../../model/policy.ts'
import type { WriteDb } from '../../store/dialect/dialect.ts'
import { holdsNothing } from '../../store/dialect/held.ts'
import { deletePolicyAuditBefore, insertPolicyAudit, listPolicyAudit } from '../../store/policy-audit.ts'
import { sweepRows } from '../../store/sweeps.ts'
import type { PolicyAuditRow } from '../../store/tables.ts'
import type { App, Rows } from '../app/app.ts'
import type { Caller } from '../app/caller.ts'
import { requireScope } from './scope.ts'

/** How long the audit of sender rules is kept. */
const policyAuditDays = 90

/** What an entry tells besides where and when. */
type Told = { readonly action: PolicyAction; readonly direction: PolicyDirection } & Partial<
  Pick<PolicyAuditRow, 'mode' | 'type' | 'value' | 'ruleId' | 'address' | 'reason' | 'keyId'>
>

/** Writes an entry as part of the write of what it tells. */
export async function recordPolicyAudit(app: App, db: WriteDb, scope: Scope, told: Told): Promise<void> {
  await insertPolicyAudit(db, {
    mode: null,
    type: null,
    value: null,
    ruleId: null,
    address: null,
    reason: null,
    keyId: null,
    ...told,
    id: app.ids.next(),
    podId: scope.podId,
    inboxId: scope.inboxId,
    createdAt: app.clock.now().toISOString(),
  })
}

export interface AuditFilter {
  readonly action?: PolicyAction | undefined
  readonly direction?: PolicyDirection | undefined
  readonly since?: string | undefined
  readonly until?: string | undefined
}

/**
 * Changes and refusals, newest first: of the whole account, of a pod with its inboxes, or of an inbox.
 * @throws Problem as `requireScope`; `invalid_request` for what is no instant
 */
export async function listAudit(
  app: Rows,
  caller: Caller,
  named: { pod?: string | undefined; inbox?: string | undefined },
  filter: AuditFilter,
  page: Page,
): Promise<Listed<PolicyAuditEntry>> {
  const within = await requireScope(app.store.read, caller, named)
  const instants = {
    since: requireInstant(filter.since, 'since'),
    until: requireInstant(filter.until, 'until'),
  }
  const { rows, total } = await listPolicyAudit(app.store.read, within, { ...filter, ...instants }, page)
  return { rows: rows as (PolicyAuditRow & PolicyAuditEntry)[], total }
}

/** @throws Problem `invalid_request` */
function requireInstant(text: string | undefined, name: string): string | undefined {
  const instant = text === undefined ? undefined : readInstant(text)
  if (text === undefined || instant !== undefined) return instant
  throw invalidRequest(`query/${name}`, 'must be an instant such as 2026-01-31T12:00:00Z')
}

/** Deletes some of the entries that are too old; gives how many. */
export async function expirePolicyAudit(app: App): Promise<number> {
  const before = isoAfter(app.clock.now(), -policyAuditDays * 86_400_000)
  return app.store.writeHolding(holdsNothing, db => deletePolicyAuditBefore(db, before, sweepRows))
}
