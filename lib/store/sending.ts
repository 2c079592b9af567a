import { sql } from 'kysely'
import type { PolicyWriter } from '../model/policy.ts'
import type { Db } from './dialect/dialect.ts'
import { prepared } from './dialect/prepared.ts'
import type { FoundPolicy } from './policy.ts'
import { everyPod, type Suppressed } from './suppressions.ts'
import type { DomainRow } from './tables.ts'

/** All that rows say of whether an inbox may write to somebody. */
export interface SendingFacts extends FoundPolicy {
  /** As `listHolders` gives them, of the domain of the inbox. */
  readonly holders: readonly Holder[]
  /** Those in force for the pod or for all. */
  readonly suppressions: readonly Suppressed[]
}

export type Holder = Pick<DomainRow, 'domain' | 'podId' | 'status' | 'verifiedAt'>

/** What they are asked about. @see `findPolicy`, `findSuppression` */
export interface SendingAsked {
  readonly domain: string
  readonly podId: string
  readonly now: string
  readonly scopes: readonly string[]
  readonly values: readonly string[]
  readonly recipients: readonly string[]
}

/** Asks by one statement: each send asks twice, and a statement costs as much as what it does. */
export async function findSendingFacts(db: Db, asked: SendingAsked): Promise<SendingFacts> {
  const { scopes, values, recipients, ...given } = asked
  // No rule has an empty value.
  const rows = await factsOf(db, given, scopes, values.length === 0 ? [''] : values, recipients)
  const of = (kind: string) => rows.filter(row => row.of === kind)
  return {
    holders: of('holder').map(({ a, b, c, d }) => ({ domain: a!, podId: b, status: c!, verifiedAt: d })),
    rules: of('rule').map(({ a, b, c, d, e, setBy }) => {
      return { id: a!, scope: b!, direction: 'outbound', type: c!, value: d!, createdAt: e!, setBy }
    }),
    modes: of('mode').map(({ a, b, c, setBy }) => ({ scope: a!, direction: b!, mode: c!, setBy })),
    suppressions: of('suppression').map(({ a, b, c, d }) => {
      return { recipient: a!, podId: b!, reason: c!, expiresAt: d }
    }),
  }
}

const factsOf = prepared(
  (
    db,
    { domain, podId, now }: Pick<SendingAsked, 'domain' | 'podId' | 'now'> & Readonly<Record<string, string>>,
    scopes = [],
    values = [],
    recipients = [],
  ) => {
    const noText = sql<string | null>`null`
    const none = [noText.as('e'), sql<PolicyWriter>`'account'`.as('setBy')] as const
    const holder = db
      .selectFrom('domain')
      .select([sql<string>`'holder'`.as('of'), 'domain as a', 'podId as b', 'status as c', 'verifiedAt as d'])
      .select([...none])
      .where('domain', '=', domain)
    return (
      holder
        // As it stands in the index, so that SQLite knows that it can use that.
        .where(eb => eb.fn.coalesce('podId', sql.lit('')), '=', sql.lit(''))
        .unionAll(
          holder
            .where('verifiedAt', 'is not', null)
            // What the first part has.
            .where('podId', 'is not', null),
        )
        .unionAll(
          db
            .selectFrom('policyRule')
            .select([sql<string>`'rule'`.as('of'), 'id as a', 'scope as b', 'type as c', 'value as d'])
            .select(['createdAt as e', 'setBy'])
            .where('scope', 'in', scopes)
            .where('direction', '=', sql.lit('outbound'))
            .where('value', 'in', values),
        )
        .unionAll(
          db
            .selectFrom('policyMode')
            .select([sql<string>`'mode'`.as('of'), 'scope as a', 'direction as b', 'mode as c'])
            .select([noText.as('d'), noText.as('e'), 'setBy'])
            .where('scope', 'in', scopes),
        )
        .unionAll(
          db
            .selectFrom('suppression')
            .select([sql<string>`'suppression'`.as('of'), 'recipient as a', 'podId as b', 'reason as c'])
            .select(['expiresAt as d', ...none])
            .where('recipient', 'in', recipients)
            .where(eb => eb.or([eb('podId', '=', sql.lit(everyPod)), eb('podId', '=', podId)]))
            .where(eb => eb.or([eb('expiresAt', 'is', null), eb('expiresAt', '>', now)])),
        )
    )
  },
).rows
