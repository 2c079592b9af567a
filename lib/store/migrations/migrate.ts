import { type Kysely, sql } from 'kysely'
import { SchemaFault, UnreleasedSchema } from '../../base/faults.ts'
import { type Db, type DialectName, ddlFor, dialectOf, type WriteDb } from '../dialect/dialect.ts'
import type { MigrationRow } from '../tables.ts'
import { schema } from './0001-schema.ts'
import { migrations } from './index.ts'
import type { Migration } from './migration.ts'

/**
 * Returns the steps that the database lacks, and the number of its last step (undefined if it has no tables).
 * @throws SchemaFault
 */
export async function findSchemaState(
  db: Db,
  dialect: DialectName,
): Promise<{ readonly missing: readonly Migration[]; readonly lastStep: number | undefined }> {
  if (!(await hasTables(db, dialect))) return { missing: migrations, lastStep: undefined }
  const present = await readLedger(db)
  const missing = migrations.filter(step => !present.some(row => row.number === step.number))
  return { missing, lastStep: present.at(-1)?.number }
}

async function hasTables(db: Db, dialect: DialectName): Promise<boolean> {
  const tables =
    dialect === 'sqlite'
      ? sql`select 1 from sqlite_master where "name" = 'migration'`
      : // Tables that this user may not use are listed, too.
        sql`select 1 from pg_tables where schemaname = current_schema() and tablename = 'migration'`
  return (await tables.execute(db)).rows.length > 0
}

/** Returns the steps that were applied. @throws SchemaFault where this program must not work on the database */
async function readLedger(db: Db): Promise<MigrationRow[]> {
  const present = await db.selectFrom('migration').selectAll().orderBy('number').execute()
  refuseUnreleased(present)
  refuseNewer(present)
  return present
}

/** @throws UnreleasedSchema where the ledger has another first step than the schema of the first release */
export function refuseUnreleased(ledger: readonly Pick<MigrationRow, 'number' | 'name'>[]): void {
  if (ledger.every(({ number, name }) => number !== schema.number || name === schema.name)) return
  throw new UnreleasedSchema(
    'a development version of mailboxd, from before the first release, made this database. No release can open it: start with a fresh data directory, and on PostgreSQL with an empty database',
  )
}

/** The last step that this program knows. */
export const newestStep = Math.max(...migrations.map(({ number }) => number))

/** @throws SchemaFault where the database is of another version than this program, or has no tables yet */
export async function requireCurrentSchema(db: Db): Promise<void> {
  if (!(await hasTables(db, dialectOf(db))))
    throw new SchemaFault(
      'the database has no tables: the first start of mailboxd was ended before it made them. Start mailboxd, which makes them',
    )
  const present = await readLedger(db)
  const [missing] = migrations.filter(step => !present.some(row => row.number === step.number))
  if (missing) {
    throw new SchemaFault(
      `the database is of an older mailboxd (migration ${missing.number}, ${missing.name}, is to come): start mailboxd, which brings it up to date`,
    )
  }
}

/** @throws SchemaFault */
function refuseNewer(present: readonly MigrationRow[]): void {
  const knows = (number: number) => migrations.some(known => known.number === number)
  const isHarmless = ({ number, breaking, unusedSince }: MigrationRow) =>
    breaking !== 1 || knows(number) || (unusedSince !== null && knows(unusedSince))
  const newer = present.find(row => !isHarmless(row))
  if (newer) {
    throw new SchemaFault(
      `the database has migration ${newer.number} (${newer.name}) of a newer mailboxd; install that version or restore a backup`,
    )
  }
}

/**
 * Brings the schema up to date inside the caller's transaction and returns the numbers of the steps that it applied.
 * @throws SchemaFault where the database has a breaking step that this program does not know
 */
export async function migrate(db: WriteDb, dialect: DialectName, appliedAt: string): Promise<number[]> {
  const present = (await hasTables(db, dialect)) ? await readLedger(db) : []
  const applied: number[] = []
  for (const step of migrations) {
    if (present.some(row => row.number === step.number)) continue
    await execute(db, dialect, step.sql)
    await db
      .insertInto('migration')
      .values({
        number: step.number,
        name: step.name,
        breaking: step.breaking ? 1 : 0,
        appliedAt,
        unusedSince: step.unusedSince ?? null,
      })
      .execute()
    applied.push(step.number)
  }
  return applied
}

async function execute(db: Kysely<never> | Db, dialect: DialectName, script: string): Promise<void> {
  const statements = ddlFor(dialect, script).replace(/^--.*$/gm, '')
  for (const statement of statements.split(/;\s*$/m)) {
    if (statement.trim()) await sql.raw(statement).execute(db)
  }
}
