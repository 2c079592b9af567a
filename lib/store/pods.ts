import type { Listed, Page } from '../model/page.ts'
import { addToAccount } from './account.ts'
import type { Db, WriteDb } from './dialect/dialect.ts'
import { insertRow } from './dialect/insert.ts'
import type { PodRow } from './tables.ts'

export async function insertPod(db: WriteDb, row: PodRow): Promise<void> {
  await insertRow(db, 'pod', row)
  await addToAccount(db, { pods: 1 })
}

export async function findPod(db: Db, id: string): Promise<PodRow | undefined> {
  return db.selectFrom('pod').selectAll().where('id', '=', id).executeTakeFirst()
}

export async function findPodByClientId(db: Db, clientId: string): Promise<PodRow | undefined> {
  return db.selectFrom('pod').selectAll().where('clientId', '=', clientId).executeTakeFirst()
}

export async function findDefaultPod(db: Db): Promise<PodRow | undefined> {
  return db.selectFrom('pod').selectAll().where('isDefault', '=', 1).executeTakeFirst()
}

/** The default pod first, then the newest first. */
export async function listPods(db: Db, page: Page): Promise<Listed<PodRow>> {
  const rows = await db
    .selectFrom('pod')
    .selectAll()
    .orderBy('isDefault', 'desc')
    .orderBy('id', 'desc')
    .limit(page.limit)
    .offset(page.offset)
    .execute()
  const account = await db.selectFrom('account').select('podCount').executeTakeFirst()
  return { rows, total: account?.podCount ?? 0 }
}

export async function updatePod(
  db: WriteDb,
  id: string,
  changes: Partial<Pick<PodRow, 'clientId' | 'name'>>,
): Promise<void> {
  await db.updateTable('pod').set(changes).where('id', '=', id).execute()
}

export async function deletePod(db: WriteDb, id: string): Promise<void> {
  await db.deleteFrom('pod').where('id', '=', id).execute()
  await addToAccount(db, { pods: -1 })
}
