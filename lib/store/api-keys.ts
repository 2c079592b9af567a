import type { Scope } from '../base/ids.ts'
import type { Db, WriteDb } from './dialect/dialect.ts'
import { insertRow } from './dialect/insert.ts'
import { prepared } from './dialect/prepared.ts'
import type { ApiKeyRow } from './tables.ts'

export async function insertApiKey(db: WriteDb, row: ApiKeyRow): Promise<void> {
  await insertRow(db, 'apiKey', row)
}

/** The key with this hash, also when it is revoked. */
export function findApiKeyByHash(db: Db, tokenHash: string): Promise<ApiKeyRow | undefined> {
  return apiKeyByHash(db, { tokenHash })
}
const apiKeyByHash = prepared((db, given: { tokenHash: string }) =>
  db.selectFrom('apiKey').selectAll().where('tokenHash', '=', given.tokenHash),
).row

export async function findApiKey(db: Db, id: string): Promise<ApiKeyRow | undefined> {
  return db.selectFrom('apiKey').selectAll().where('id', '=', id).executeTakeFirst()
}

/** The active keys of exactly this scope, oldest first. */
export async function listApiKeys(db: Db, scope: Scope): Promise<ApiKeyRow[]> {
  return db
    .selectFrom('apiKey')
    .selectAll()
    .where('podId', scope.podId === null ? 'is' : '=', scope.podId)
    .where('inboxId', scope.inboxId === null ? 'is' : '=', scope.inboxId)
    .where('revokedAt', 'is', null)
    .orderBy('id')
    .execute()
}

/** The active keys of every scope, oldest first, at most `limit` after the key `after` (for the operator). */
export async function listAllApiKeys(db: Db, limit: number, after = ''): Promise<ApiKeyRow[]> {
  return db
    .selectFrom('apiKey')
    .selectAll()
    .where('id', '>', after)
    .where('revokedAt', 'is', null)
    .orderBy('id')
    .limit(limit)
    .execute()
}

/** Which of these keys are active. */
export async function filterActiveApiKeys(db: Db, ids: readonly string[]): Promise<string[]> {
  const rows = await db
    .selectFrom('apiKey')
    .select('id')
    .where('id', 'in', ids)
    .where('revokedAt', 'is', null)
    .execute()
  return rows.map(row => row.id)
}

/** Gives whether an active key was revoked. */
export async function revokeApiKey(db: WriteDb, id: string, revokedAt: string): Promise<boolean> {
  const done = await db
    .updateTable('apiKey')
    .set({ revokedAt })
    .where('id', '=', id)
    .where('revokedAt', 'is', null)
    .executeTakeFirst()
  return done.numUpdatedRows > 0n
}

export async function revokeInboxApiKeys(db: WriteDb, inboxId: string, revokedAt: string): Promise<void> {
  await db
    .updateTable('apiKey')
    .set({ revokedAt })
    .where('inboxId', '=', inboxId)
    .where('revokedAt', 'is', null)
    .execute()
}

/** A pod that is deleted has no inboxes left; its keys, revoked or not, go with it. */
export async function deletePodApiKeys(db: WriteDb, podId: string): Promise<void> {
  await db.deleteFrom('apiKey').where('podId', '=', podId).execute()
}

export async function touchApiKey(db: WriteDb, id: string, lastUsedAt: string): Promise<void> {
  await db.updateTable('apiKey').set({ lastUsedAt }).where('id', '=', id).execute()
}
