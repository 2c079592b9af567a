import { sql } from 'kysely'
import type { Db, WriteDb } from './dialect/dialect.ts'
import { insertRow, putRow } from './dialect/insert.ts'
import { prepared } from './dialect/prepared.ts'
import type { PolicyModeRow, PolicyRuleRow } from './tables.ts'

/** The modes that were set in these scopes; a scope without a row has its default. */
export async function listPolicyModes(db: Db, scopes: readonly string[]): Promise<PolicyModeRow[]> {
  return modesOf(db, {}, scopes)
}
const modesOf = prepared((db, _given, scopes = []) =>
  db.selectFrom('policyMode').selectAll().where('scope', 'in', scopes),
).rows

export async function setPolicyMode(db: WriteDb, row: PolicyModeRow): Promise<void> {
  await putRow(db, 'policyMode', row, ['scope', 'setBy', 'direction'])
}

/** All rules of these scopes, the oldest first. */
export async function listPolicyRules(db: Db, scopes: readonly string[]): Promise<PolicyRuleRow[]> {
  return db.selectFrom('policyRule').selectAll().where('scope', 'in', scopes).orderBy('id').execute()
}

export interface FoundPolicy {
  readonly modes: PolicyModeRow[]
  readonly rules: PolicyRuleRow[]
}

/** The modes that were set in these scopes, and their rules in a direction that have one of these values. */
export async function findPolicy(
  db: Db,
  scopes: readonly string[],
  direction: string,
  values: readonly string[],
): Promise<FoundPolicy> {
  const found: FoundPolicy = { modes: [], rules: [] }
  if (values.length === 0) return { ...found, modes: await listPolicyModes(db, scopes) }
  for (const { mode, ...row } of await policyOf(db, { direction }, scopes, values)) {
    if (mode === null) found.rules.push(row)
    else found.modes.push({ scope: row.scope, direction: row.direction, mode, setBy: row.setBy })
  }
  return found
}
const nothing = sql<string>`''`
const policyOf = prepared((db, { direction }: { direction: string }, scopes = [], values = []) =>
  db
    .selectFrom('policyRule')
    .select(['id', 'scope', 'direction', 'type', 'value', 'createdAt', 'setBy'])
    .select(sql<string | null>`null`.as('mode'))
    .where('scope', 'in', scopes)
    .where('direction', '=', direction)
    .where('value', 'in', values)
    .unionAll(
      db
        .selectFrom('policyMode')
        .select([nothing.as('id'), 'scope', 'direction', nothing.as('type'), nothing.as('value')])
        .select([nothing.as('createdAt'), 'setBy', 'mode'])
        .where('scope', 'in', scopes),
    ),
).rows

export async function findPolicyRule(db: Db, id: string): Promise<PolicyRuleRow | undefined> {
  return db.selectFrom('policyRule').selectAll().where('id', '=', id).executeTakeFirst()
}

export async function insertPolicyRule(db: WriteDb, row: PolicyRuleRow): Promise<void> {
  await insertRow(db, 'policyRule', row)
}

export async function deletePolicyRule(db: WriteDb, id: string): Promise<void> {
  await db.deleteFrom('policyRule').where('id', '=', id).execute()
}

/** All that is set in a scope that goes, too. */
export async function deletePolicy(db: WriteDb, scope: string): Promise<void> {
  await db.deleteFrom('policyRule').where('scope', '=', scope).execute()
  await db.deleteFrom('policyMode').where('scope', '=', scope).execute()
}
