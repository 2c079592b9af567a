import { sql } from 'kysely'
import type { Db, WriteDb } from './dialect/dialect.ts'
import { insertRow } from './dialect/insert.ts'
import type { StandingHoldRow } from './tables.ts'

/** What a hold is of: all that agrees with everything that is not null. */
export type HoldScope = Pick<StandingHoldRow, 'inboxId' | 'podId' | 'domain'>

export async function insertStandingHold(db: WriteDb, row: StandingHoldRow): Promise<void> {
  await insertRow(db, 'standingHold', row)
}

/** All of them, oldest first; standingHolds at the most. */
export async function listStandingHolds(db: Db): Promise<StandingHoldRow[]> {
  return db.selectFrom('standingHold').selectAll().orderBy('id').execute()
}

export async function deleteStandingHold(db: WriteDb, id: string): Promise<void> {
  await db.deleteFrom('standingHold').where('id', '=', id).execute()
}

/**
 * Whether a hold is of a delivery, in a statement that has the tables delivery, message and inbox, as 0 or more. Asked with
 * each attempt, so it is no statement of its own.
 */
export const holdsOfDelivery = sql<number>`(select count(*) from "standingHold" where
  ("standingHold"."inboxId" is null or "standingHold"."inboxId" = "message"."inboxId") and
  ("standingHold"."podId" is null or "standingHold"."podId" = "inbox"."podId") and
  ("standingHold"."domain" is null or "delivery"."recipient" like '%@' || "standingHold"."domain"))`
