import { type Kysely, sql } from 'kysely'
import { placeInWords, settingOfPlace } from '../../base/database-place.ts'
import { SchemaFault } from '../../base/schema-fault.ts'
import { type Db, type DialectName, ddlFor, dialectOf, type WriteDb } from '../dialect/dialect.ts'
import type { MigrationRow } from '../tables.ts'
import { migrations } from './index.ts'
import { ledgerDdl, type Migration, movingStep, readMovingName } from './migration.ts'

/**
 * The steps that the schema waits for, and the number of the last one that it has; undefined: it is new.
 * @param isTarget whether rows are being moved into it by who asks
 * @throws SchemaFault
 */
export async function findSchemaState(
  db: Db,
  dialect: DialectName,
  isTarget: boolean,
): Promise<{ readonly missing: readonly Migration[]; readonly lastStep: number | undefined }> {
  if (!(await hasTables(db, dialect))) return { missing: migrations, lastStep: undefined }
  const present = await db.selectFrom('migration').selectAll().orderBy('number').execute()
  refuseNewer(present, isTarget)
  const missing = migrations.filter(step => !present.some(row => row.number === step.number))
  return { missing, lastStep: present.at(-1)?.number }
}

async function hasTables(db: Db, dialect: DialectName): Promise<boolean> {
  const tables =
    dialect === 'sqlite'
      ? sql`select 1 from sqlite_master where "name" = 'migration'`
      : sql`select 1 from information_schema.tables where table_schema = current_schema() and table_name = 'migration'`
  return (await tables.execute(db)).rows.length > 0
}

/** The last step that this program knows. */
export const newestStep = Math.max(...migrations.map(({ number }) => number))

/**
 * @param isMoved whether who asks moves rows from it
 * @throws SchemaFault where the database is of another version than this program, or has no tables yet
 */
export async function requireCurrentSchema(db: Db, isMoved = false): Promise<void> {
  if (!(await hasTables(db, dialectOf(db))))
    throw new SchemaFault(
      'the database has no tables: the first start of mailboxd was ended before it made them. Start mailboxd, which makes them',
    )
  const present = await db.selectFrom('migration').selectAll().orderBy('number').execute()
  refuseNewer(present, isMoved)
  const [missing] = migrations.filter(step => !present.some(row => row.number === step.number))
  if (missing) {
    throw new SchemaFault(
      `the database is of an older mailboxd (migration ${missing.number}, ${missing.name}, is to come): start mailboxd, which brings it up to date`,
    )
  }
}

/** @throws SchemaFault */
function refuseNewer(present: readonly MigrationRow[], isTarget = false): void {
  const knows = (number: number) => migrations.some(known => known.number === number)
  const isHarmless = ({ number, breaking, unusedSince }: MigrationRow) =>
    breaking !== 1 ||
    knows(number) ||
    (isTarget && number === movingStep) ||
    // The column is not there where it waits for its step.
    (unusedSince != null && knows(unusedSince))
  const newer = present.find(row => !isHarmless(row))
  const place = newer?.number === movingStep ? readMovingName(newer.name).place : undefined
  if (place !== undefined)
    throw new SchemaFault(
      `the rows have been moved from this database to another one (${placeInWords(place)}): ${settingOfPlace(place)}`,
    )
  if (newer?.number === movingStep)
    throw new SchemaFault(
      'rows are being moved into this database and are not all there yet, or they were moved from it to another one: run mailboxctl migrate again, with mailboxd stopped and the configuration as it was before, until all is done, and set `database` as it says',
    )
  if (newer) {
    throw new SchemaFault(
      `the database has migration ${newer.number} (${newer.name}) of a newer mailboxd; install that version or restore a backup`,
    )
  }
}

/**
 * Brings the schema up to date inside the caller's transaction and gives the numbers of the steps that were applied.
 * Refuses a database that has a breaking step unknown to this program; an unknown step that is not breaking is fine.
 */
export async function migrate(
  db: WriteDb,
  dialect: DialectName,
  appliedAt: string,
  isTarget = false,
): Promise<number[]> {
  await execute(db, dialect, ledgerDdl)
  const present = await db.selectFrom('migration').selectAll().orderBy('number').execute()
  refuseNewer(present, isTarget)
  const applied: number[] = []
  for (const step of migrations) {
    if (present.some(row => row.number === step.number)) continue
    await execute(db, dialect, step.sql)
    await step.fill?.(db)
    await db
      .insertInto('migration')
      .values({
        number: step.number,
        name: step.name,
        breaking: step.breaking ? 1 : 0,
        appliedAt,
        // Of a step before this column was there nothing is said.
        ...(step.unusedSince !== undefined && { unusedSince: step.unusedSince }),
      })
      .execute()
    applied.push(step.number)
  }
  return applied
}

async function execute(db: Kysely<never> | Db, dialect: DialectName, script: string): Promise<void> {
  for (const statement of ddlFor(dialect, script).split(/;\s*$/m)) {
    if (statement.trim()) await sql.raw(statement).execute(db)
  }
}
