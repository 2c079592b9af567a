import { join } from 'node:path'
import Database from 'better-sqlite3'
import t from 'tap'
import { systemClock } from '../../lib/base/time.ts'
import { deleteDeferralsBefore } from '../../lib/store/authentication-deferrals.ts'
import { deleteDaysBefore } from '../../lib/store/daily-usage.ts'
import { deleteDestinationsBefore } from '../../lib/store/destinations.ts'
import type { WriteDb } from '../../lib/store/dialect/dialect.ts'
import { deleteDomainKeysBefore } from '../../lib/store/domain-keys.ts'
import { deleteEventsBefore } from '../../lib/store/events.ts'
import { deleteForwardConfirmations } from '../../lib/store/forward-confirmations.ts'
import { deleteGreylistBefore } from '../../lib/store/greylist.ts'
import { deleteIdempotencyBefore } from '../../lib/store/idempotency.ts'
import { deleteNodesBefore } from '../../lib/store/nodes.ts'
import { openStore } from '../../lib/store/open.ts'
import { deletePolicyAuditBefore } from '../../lib/store/policy-audit.ts'
import { deleteStsPoliciesBefore } from '../../lib/store/sts-policies.ts'
import { deleteExpiredSuppressions } from '../../lib/store/suppressions.ts'
import { deleteTlsResultsBefore } from '../../lib/store/tls-results.ts'
import { deleteUsageBefore } from '../../lib/store/usage.ts'
import { makeMigratedFile } from '../support/migrated.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

type Sweep = (db: WriteDb, bound: string, limit: number) => Promise<number>

interface Case {
  readonly table: string
  /** By which it is over. */
  readonly column: string
  readonly sweep: Sweep
  /** Whether one goes whose time is the bound itself. */
  readonly takesBound?: true
  /** What its rows have, if not nothing. */
  readonly of?: Readonly<Record<string, string | number | null>>
  /** What keeps a row that is old. */
  readonly keptBy?: Readonly<Record<string, string | number | null>>
}

const at = (minute: number) => `2026-11-23T12:0${minute}:00.000Z`

const cases: readonly Case[] = [
  { table: 'idempotency', column: 'createdAt', sweep: deleteIdempotencyBefore },
  { table: 'event', column: 'createdAt', sweep: deleteEventsBefore },
  {
    table: 'destination',
    column: 'updatedAt',
    sweep: deleteDestinationsBefore,
  },
  { table: 'stsPolicy', column: 'expiresAt', sweep: deleteStsPoliciesBefore },
  { table: 'tlsResult', column: 'day', sweep: deleteTlsResultsBefore },
  {
    table: 'node',
    column: 'leasedUntil',
    sweep: deleteNodesBefore,
    of: { state: 'stopped' },
    keptBy: { state: 'up' },
  },
  { table: 'suppression', column: 'expiresAt', sweep: deleteExpiredSuppressions, takesBound: true },
  { table: 'policyAudit', column: 'createdAt', sweep: deletePolicyAuditBefore },
  { table: 'authenticationDeferral', column: 'firstAt', sweep: deleteDeferralsBefore },
  { table: 'dailyUsage', column: 'day', sweep: deleteDaysBefore },
  {
    table: 'usage',
    column: 'period',
    sweep: (db, bound, limit) => deleteUsageBefore(db, 'sent', bound, limit),
    of: { kind: 'sent' },
    keptBy: { kind: 'other' },
  },
  { table: 'domainKey', column: 'endsAt', sweep: deleteDomainKeysBefore, keptBy: { endsAt: null } },
  { table: 'greylistEntry', column: 'expiresAt', sweep: deleteGreylistBefore, takesBound: true },
  {
    table: 'forwardConfirmation',
    column: 'createdAt',
    sweep: (db, before, limit) => deleteForwardConfirmations(db, { before }, limit),
  },
]

t.test('a sweep takes what is over, as many as it may, and nothing else', async t => {
  const path = join(temporaryDir(t), 'test.sqlite')
  await makeMigratedFile(path)
  const file = new Database(path)
  file.pragma('foreign_keys = off')
  let rows = 0
  const insert = (table: string, values: Readonly<Record<string, string | number | null>>) => {
    const columns = file.pragma(`table_info("${table}")`) as {
      name: string
      type: string
      notnull: number
      pk: number
    }[]
    const row = columns.map(({ name, type, notnull, pk }) => {
      if (name in values) return values[name]
      return notnull === 0 && pk === 0
        ? null
        : /^int/i.test(type)
          ? ++rows
          : /^blob/i.test(type)
            ? Buffer.alloc(0)
            : `x${++rows}`
    })
    file.prepare(`insert into "${table}" values (${row.map(() => '?').join()})`).run(...row)
  }
  for (const { table, column, of, keptBy } of cases) {
    for (const minute of [1, 2, 3, 4, 5]) insert(table, { ...of, [column]: at(minute) })
    if (keptBy) insert(table, { ...of, [column]: at(1), ...keptBy })
  }
  file.close()
  const store = await openStore(path, systemClock)
  t.teardown(() => store.close())
  const reader = new Database(path)
  t.teardown(() => reader.close())

  for (const { table, column, sweep, takesBound, keptBy } of cases) {
    const swept = (limit: number) => store.write(db => sweep(db, at(3), limit))
    const left = () =>
      reader.prepare(`select "${column}" from "${table}" order by "${column}"`).pluck().all() as string[]
    const kept = keptBy ? [column in keptBy ? null : at(1)] : []
    const young = [...(takesBound ? [] : [at(3)]), at(4), at(5)]
    t.equal(await swept(1), 1, `${table}: one of several`)
    t.equal(left().length, kept.length + 4, table)
    if (takesBound) t.equal(await swept(1), 1, table)
    t.equal(await swept(10), 1, `${table}: the last one`)
    t.equal(await swept(10), 0, `${table}: no more`)
    t.strictSame(left(), [...kept, ...young], `${table}: who is left`)
  }
})
