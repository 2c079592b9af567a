import { sql } from 'kysely'
import { findAccount } from '../account.ts'
import type { Db, WriteDb } from '../dialect/dialect.ts'
import { insertRow } from '../dialect/insert.ts'
import { movingName, movingStep, readMovingName } from '../migrations/migration.ts'
import { emptyIndex } from '../search/full-text.ts'

/** What a database is to rows that come from the installation with this account; `begun` is also what it left when it moved away. */
export type TargetState = 'empty' | 'begun' | 'of another' | 'in use'

export async function targetStateOf(db: Db, accountId: string): Promise<TargetState> {
  const mark = await findMark(db)
  if (mark) return readMovingName(mark.name).rowsOf === movingName(accountId) ? 'begun' : 'of another'
  return (await findAccount(db)) ? 'in use' : 'empty'
}

function findMark(db: Db): Promise<{ readonly name: string } | undefined> {
  return db.selectFrom('migration').select('name').where('number', '=', movingStep).executeTakeFirst()
}

/** Where the rows of this database are by now, as of `movingName`; undefined: here, or nobody noted it. */
export async function movedPlaceOf(db: Db): Promise<string | undefined> {
  const mark = await findMark(db)
  return mark && readMovingName(mark.name).place
}

/**
 * From now on nobody opens the database but who moves rows into it, or from it what is left of a move.
 * @param place of what was moved from here, where it is by now, as of `movingName`
 */
export async function closeToOthers(
  db: WriteDb,
  accountId: string,
  at: string,
  place?: string,
): Promise<void> {
  const name = movingName(accountId, place)
  await insertRow(db, 'migration', { number: movingStep, name, breaking: 1, appliedAt: at })
}

/** All rows are there: the database is one as others are, in which each message is still to be put into the search index. */
export async function openToOthers(db: WriteDb): Promise<void> {
  await emptyIndex(db)
  await sql`insert into "unindexedBody" ("messageId", "state") select "id", 'new' from "message" where true
    on conflict ("messageId") do nothing`.execute(db)
  await db.deleteFrom('migration').where('number', '=', movingStep).execute()
}
