import { sql } from 'kysely'
import type { WriteDb } from '../dialect/dialect.ts'

/** A setting of a transaction: whether it is its turn. */
export const turnSetting = 'mailboxd.turn'

/** Whether it is the turn of the transaction that asks. */
export const isOurTurn = sql`current_setting(${sql.lit(turnSetting)}) = 'true'`

/** What one process at a time does, in two steps. */
export interface Turn<Found, Made> {
  /**
   * Sent together with the question of whose turn it is, so what changes anything asks for `isOurTurn`. What it reads is what is
   * committed once it is ours.
   */
  find(db: WriteDb): Promise<Found>
  finish(db: WriteDb, found: Found): Promise<Made>
}
