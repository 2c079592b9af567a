import type { Db, WriteDb } from './dialect/dialect.ts'
import { putRow } from './dialect/insert.ts'
import type { AcmeChallengeRow, AcmeFileRow } from './tables.ts'

export async function findAcmeFile(db: Db, id: string): Promise<AcmeFileRow | undefined> {
  return db.selectFrom('acmeFile').selectAll().where('id', '=', id).executeTakeFirst()
}

export async function putAcmeFile(db: WriteDb, row: AcmeFileRow): Promise<void> {
  await putRow(db, 'acmeFile', row, ['id'])
}

/** All that are to be answered: each order has as many as names. */
export async function listAcmeChallenges(db: Db): Promise<AcmeChallengeRow[]> {
  return db.selectFrom('acmeChallenge').selectAll().execute()
}

export async function putAcmeChallenge(db: WriteDb, row: AcmeChallengeRow): Promise<void> {
  await putRow(db, 'acmeChallenge', row, ['token'])
}

/** Forgets those of orders that are long over, however they ended. */
export async function deleteAcmeChallengesBefore(db: WriteDb, before: string): Promise<void> {
  await db.deleteFrom('acmeChallenge').where('createdAt', '<', before).execute()
}
