import type { WriteDb } from './dialect/dialect.ts'
import { insertRow } from './dialect/insert.ts'
import type { AuthenticationDeferralRow } from './tables.ts'

/**
 * When the message was deferred first: now, when it was not yet. Without room (rows of its network, rows in all) nothing
 * is noted, and undefined given.
 */
export async function noteDeferral(
  db: WriteDb,
  row: AuthenticationDeferralRow,
  room: { readonly ofNetwork: number; readonly inAll: number },
): Promise<string | undefined> {
  const known = await db
    .selectFrom('authenticationDeferral')
    .select('firstAt')
    .where('id', '=', row.id)
    .executeTakeFirst()
  if (known) return known.firstAt
  const all = db.selectFrom('authenticationDeferral').select('id')
  const last = await all
    .where('network', '=', row.network)
    .limit(1)
    .offset(room.ofNetwork - 1)
    .executeTakeFirst()
  if (
    last ||
    (await all
      .limit(1)
      .offset(room.inAll - 1)
      .executeTakeFirst())
  )
    return undefined
  await insertRow(db, 'authenticationDeferral', row)
  return row.firstAt
}

/** Deletes at most `limit` of what was deferred first before an instant; gives how many. */
export async function deleteDeferralsBefore(db: WriteDb, before: string, limit: number): Promise<number> {
  const some = db.selectFrom('authenticationDeferral').select('id').where('firstAt', '<', before).limit(limit)
  const done = await db.deleteFrom('authenticationDeferral').where('id', 'in', some).executeTakeFirst()
  return Number(done.numDeletedRows)
}
