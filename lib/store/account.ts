import { type Db, keptRow } from './dialect/dialect.ts'
import { insertRow } from './insert.ts'
import type { AccountRow } from './tables.ts'

export function findAccount(db: Db): Promise<AccountRow | undefined> {
  return account(db)
}
const account = keptRow<AccountRow>(db => db.selectFrom('account').selectAll())

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

/** Sets the webhook of the account, or takes it away. */
export async function updateAccount(
  db: Db,
  changes: Pick<AccountRow, 'webhookUrl' | 'webhookSecret'>,
): Promise<void> {
  await db.updateTable('account').set(changes).execute()
}
