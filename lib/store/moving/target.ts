import { sql } from 'kysely'
import { findAccount } from '../account.ts'
import type { Db, WriteDb } from '../dialect/dialect.ts'
import { insertRow } from '../dialect/insert.ts'
import { movingStep } from '../migrations/migration.ts'
import { emptyIndex } from '../search/full-text.ts'

/** What a database is to rows that come from the installation with this account; `begun` is also what it left when it moved away. */
export type TargetState = 'empty' | 'begun' | 'of another' | 'in use'

export async function targetStateOf(db: Db, accountId: string): Promise<TargetState> {
  const mark = await db
    .selectFrom('migration')
    .select('name')
    .where('number', '=', movingStep)
    .executeTakeFirst()
  if (mark) return mark.name === nameOf(accountId) ? 'begun' : 'of another'
  return (await findAccount(db)) ? 'in use' : 'empty'
}

const nameOf = (accountId: string) => `rows-of-${accountId}`

/** From now on nobody opens the database but who moves rows into it, or from it what is left of a move. */
export async function closeToOthers(db: WriteDb, accountId: string, at: string): Promise<void> {
  const name = nameOf(accountId)
  await insertRow(db, 'migration', { number: movingStep, name, breaking: 1, appliedAt: at })
}

/** All rows are there: the database is one as others are, in which each message is still to be put into the search index. */
export async function openToOthers(db: WriteDb): Promise<void> {
  await emptyIndex(db)
  await sql`insert into "unindexedBody" ("messageId", "state") select "id", 'new' from "message" where true
    on conflict ("messageId") do nothing`.execute(db)
  await db.deleteFrom('migration').where('number', '=', movingStep).execute()
}
