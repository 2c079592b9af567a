import type { Db } from './dialect.ts'
import { insertRow } from './insert.ts'
import type { AccountRow } from './tables.ts'

export async function findAccount(db: Db): Promise<AccountRow | undefined> {
  return db.selectFrom('account').selectAll().executeTakeFirst()
}

export async function insertAccount(db: Db, row: AccountRow): Promise<void> {
  await insertRow(db, 'account', row)
}

/** Writes something that SQLite does not leave out because it is there already. */
export async function noteHealth(db: Db, at: string): Promise<void> {
  await db.updateTable('account').set({ healthAt: at }).execute()
}

/** Moves the counters that answer `total`, in the write that adds or removes what they count. */
export async function addToAccount(db: Db, added: { pods?: number; inboxes?: number }): Promise<void> {
  await db
    .updateTable('account')
    .set(eb => ({
      podCount: eb('podCount', '+', added.pods ?? 0),
      inboxCount: eb('inboxCount', '+', added.inboxes ?? 0),
    }))
    .execute()
}
