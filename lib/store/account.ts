import type { Db, WriteDb } from './dialect/dialect.ts'
import { insertRow } from './dialect/insert.ts'
import { prepared } from './dialect/prepared.ts'
import type { AccountRow } from './tables.ts'

export function findAccount(db: Db): Promise<AccountRow | undefined> {
  return account(db, {})
}
const account = prepared(db => db.selectFrom('account').selectAll()).row

export async function insertAccount(db: WriteDb, row: AccountRow): Promise<void> {
  await insertRow(db, 'account', row)
}

/** Writes something that SQLite does not leave out because it is there already. */
export async function noteHealth(db: WriteDb, at: string): Promise<void> {
  await db.updateTable('account').set({ healthAt: at }).execute()
}

/** Moves the counters that answer `total`, in the write that adds or removes what they count. */
export async function addToAccount(db: WriteDb, added: { pods?: number; inboxes?: number }): Promise<void> {
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
  db: WriteDb,
  changes: Pick<AccountRow, 'webhookUrl' | 'webhookSecret'>,
): Promise<void> {
  await db.updateTable('account').set(changes).execute()
}
