import { sql } from 'kysely'
import { type Db, dialectOf, type WriteDb } from '../dialect/dialect.ts'
import { putRow } from '../dialect/insert.ts'
import { movingName, movingStep, readMovingName } from '../migrations/migration.ts'
import { emptyIndex } from '../search/full-text.ts'

/** What a database is to rows that come from the installation with this account; `begun` is also what it left when it moved away. */
export type TargetState = 'empty' | 'begun' | 'of another' | 'in use' | "a stranger's"

/** That rows are on their way into a database, or have been moved from it. */
export interface MovingMark {
  readonly rowsOf: string
  /** Where all of them are by now, as of `movingName`; undefined: they are on their way into it. */
  readonly place: string | undefined
  /** When the copy was begun, in the copy and in what was moved from: by it both know that they belong together. */
  readonly begunAt: string
}

/** Reads nothing but what every version of the schema has, so a database is looked at before anything is written into it. */
export async function targetStateOf(db: Db, accountId: string): Promise<TargetState> {
  const tables = await listTables(db)
  if (tables.length === 0) return 'empty'
  if (!tables.includes('migration')) return "a stranger's"
  const mark = await findMark(db)
  if (mark) return mark.rowsOf === movingName(accountId) ? 'begun' : 'of another'
  if (!tables.includes('account')) return 'empty'
  const { rows } = await sql`select 1 from "account" limit 1`.execute(db)
  return rows.length > 0 ? 'in use' : 'empty'
}

async function listTables(db: Db): Promise<string[]> {
  const asked =
    dialectOf(db) === 'sqlite'
      ? sql<{ name: string }>`select "name" from sqlite_master where "type" = 'table'`
      : sql<{ name: string }>`select tablename as "name" from pg_tables where schemaname = current_schema()`
  return (await asked.execute(db)).rows.map(({ name }) => name)
}

export async function findMark(db: Db): Promise<MovingMark | undefined> {
  const row = await db
    .selectFrom('migration')
    .select(['name', 'appliedAt'])
    .where('number', '=', movingStep)
    .executeTakeFirst()
  return row && { ...readMovingName(row.name), begunAt: row.appliedAt }
}

/**
 * From now on nobody opens the database but who moves rows into it, or from it what is left of a move.
 * @param place of what was moved from here, where it is by now, as of `movingName`
 */
export async function closeToOthers(
  db: WriteDb,
  accountId: string,
  begunAt: string,
  place?: string,
): Promise<void> {
  const name = movingName(accountId, place)
  const mark = { number: movingStep, name, breaking: 1, appliedAt: begunAt, unusedSince: null }
  await putRow(db, 'migration', mark, ['number'])
}

/** All rows are there: the database is one as others are, in which each message is still to be put into the search index. */
export async function openToOthers(db: WriteDb): Promise<void> {
  await emptyIndex(db)
  await sql`insert into "unindexedBody" ("messageId", "state") select "id", 'new' from "message" where true
    on conflict ("messageId") do nothing`.execute(db)
  await db.deleteFrom('migration').where('number', '=', movingStep).execute()
}
