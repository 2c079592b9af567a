import type { Listed, Page } from '../model/page.ts'
import type { Db, WriteDb } from './dialect/dialect.ts'
import { insertRow } from './dialect/insert.ts'
import type { MemberRow } from './tables.ts'

/** @param address lower-case */
export async function findMember(db: Db, address: string): Promise<MemberRow | undefined> {
  return db.selectFrom('member').selectAll().where('address', '=', address).executeTakeFirst()
}

/** In the order of their addresses. */
export async function listMembers(db: Db, page: Page): Promise<Listed<MemberRow>> {
  const rows = await db
    .selectFrom('member')
    .selectAll()
    .orderBy('address')
    .limit(page.limit)
    .offset(page.offset)
    .execute()
  const counted = await db
    .selectFrom('member')
    .select(eb => eb.fn.countAll<number>().as('count'))
    .executeTakeFirst()
  return { rows, total: Number(counted?.count ?? 0) }
}

export async function insertMember(db: WriteDb, row: MemberRow): Promise<void> {
  await insertRow(db, 'member', row)
}

/** Gives whether there was one. */
export async function deleteMember(db: WriteDb, address: string): Promise<boolean> {
  const done = await db.deleteFrom('member').where('address', '=', address).executeTakeFirst()
  return done.numDeletedRows > 0
}
