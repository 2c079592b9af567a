import { sql } from 'kysely'
import type { Sealed } from '../base/secrets.ts'
import type { Db, WriteDb } from './dialect/dialect.ts'
import { insertRow } from './dialect/insert.ts'
import type { SecretKeyRow } from './tables.ts'

/** Every column that holds a secret. */
export const secretColumns = [
  { table: 'account', column: 'signingSecret' },
  { table: 'account', column: 'webhookSecret' },
  { table: 'domain', column: 'dkimPrivateKey' },
  { table: 'domainKey', column: 'privateKey' },
  { table: 'inbox', column: 'webhookSecret' },
  { table: 'acmeFile', column: 'content' },
] as const

export type SecretColumn = (typeof secretColumns)[number]

/** The key that the secrets of this database are sealed under; undefined as long as none was. */
export async function findSecretKey(db: Db): Promise<SecretKeyRow | undefined> {
  return db.selectFrom('secretKey').selectAll().executeTakeFirst()
}

export async function insertSecretKey(db: WriteDb, row: SecretKeyRow): Promise<void> {
  await insertRow(db, 'secretKey', row)
}

/** From now on the secrets are sealed under another key. */
export async function replaceSecretKey(db: WriteDb, row: SecretKeyRow): Promise<void> {
  await db.deleteFrom('secretKey').execute()
  await insertSecretKey(db, row)
}

/** Returns a column of sealed secrets, in the order of the ids after `after`. */
export async function listSecrets(
  db: Db,
  { table, column }: SecretColumn,
  after: string,
  limit: number,
): Promise<{ readonly id: string; readonly text: string }[]> {
  const { rows } = await sql<{ id: string; text: string }>`
    select "id", ${sql.ref(column)} as "text" from ${sql.table(table)}
    where "id" > ${after} and ${sql.ref(column)} is not null order by "id" limit ${limit}`.execute(db)
  return rows
}

export async function updateSecret(
  db: WriteDb,
  { table, column }: SecretColumn,
  id: string,
  sealed: Sealed,
): Promise<void> {
  await sql`update ${sql.table(table)} set ${sql.ref(column)} = ${sealed} where "id" = ${id}`.execute(db)
}
