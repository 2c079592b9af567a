import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import { SchemaFault } from '../base/faults.ts'
import type { Db } from './dialect/dialect.ts'
import { holdsNothing } from './dialect/held.ts'
import { writeLeft } from './last-statements.ts'
import { listOtherNodes } from './living-nodes.ts'
import { schema } from './migrations/0001-schema.ts'
import { migrate } from './migrations/migrate.ts'
import type { Migration } from './migrations/migration.ts'
import { openPostgres, type Reaching } from './postgres/pool.ts'

/** An upgrade beside nodes that work: how long it waits for a table, in which they wait for it; how long it lets them go on, and how often it tries. */
const schemaLockMs = 1000
const schemaLockRestMs = 2000
const schemaLockTries = 30

export interface ServerUpgrade {
  /** As of `openStore`. */
  readonly url: string
  /** Who does it, and holds the lock of starts; undefined: who holds the lock that no node lives beside. */
  readonly node: string | undefined
  readonly missing: readonly Migration[]
  readonly appliedAt: string
  readonly outage?: Reaching | undefined
}

/**
 * Brings the schema on a server up to date, beside nodes of an older program where all steps let them go on.
 * @throws SchemaFault where a step does not, and such a node lives; or a table can't be had
 */
export async function upgradeServer(upgrade: ServerUpgrade): Promise<void> {
  const { url, missing, appliedAt } = upgrade
  // An index on a large table takes as long as it takes.
  const pool = openPostgres(url, 1, upgrade.outage, 0)
  try {
    for (let tried = 1; ; tried++) {
      try {
        await pool.write(
          holdsNothing,
          async db => {
            // Who waits for a table that others read has all wait who come after it: it does so for a moment only.
            await sql`set local lock_timeout = ${sql.lit(`${schemaLockMs}ms`)}`.execute(db)
            await requireOlderStopped(db, upgrade.node, missing)
            return migrate(db, 'postgres', appliedAt)
          },
          { writeLeft, committed: () => {} },
        )
        return
      } catch (error) {
        if (!isLockNotAvailable(error)) throw error
        if (tried === schemaLockTries)
          throw new SchemaFault(
            'the database is not brought up to date: a transaction that takes long (pg_dump, a query by hand) keeps a table from it. pg_stat_activity says which; start this one again when it has ended',
          )
        await pause(schemaLockRestMs)
      }
    }
  } finally {
    await pool.close()
  }
}

/** @throws SchemaFault */
async function requireOlderStopped(
  db: Db,
  node: string | undefined,
  missing: readonly Migration[],
): Promise<void> {
  const breaking = missing.filter(step => step.breaking)
  // A database without tables has no nodes.
  if (breaking.length === 0 || node === undefined || missing.includes(schema)) return
  const others = await listOtherNodes(db, node)
  for (const step of breaking) {
    const { unusedSince } = step
    const harmed = others.filter(
      ({ newestStep }) => unusedSince === undefined || newestStep === null || newestStep < unusedSince,
    )
    if (harmed.length === 0) continue
    const names = harmed.map(({ id, name, version }) => `${name} (${id}, version ${version})`)
    throw new SchemaFault(
      `the database is not brought up to date: after its step ${step.number} (${step.name}) these nodes, which run an older mailboxd, could not work on it: ${names.join(', ')}. Stop them, then start this one again`,
    )
  }
}

/** lock_not_available */
const isLockNotAvailable = (error: unknown) =>
  error instanceof Error && 'code' in error && error.code === '55P03'
