import { sql } from 'kysely'
import { type Db, dialectOf } from '../dialect/dialect.ts'
import type { MessageRow } from '../tables.ts'
import { indexTokens } from './words.ts'

/** Entries on SQLite are numbered by time, so that newest first is an order and a time is a range: this many in a millisecond. */
export const numbersPerMs = 2048

/** Words of a message that no text can have: what it belongs to and what it is. */
export const marks = {
  all: 'all',
  inbox: (id: string) => `inbox${id.replaceAll('-', '')}`,
  pod: (id: string) => `pod${id.replaceAll('-', '')}`,
  category: (category: string) => `category${category}`,
  direction: (direction: string) => `direction${direction}`,
  attachment: 'attachment',
} as const

/** The columns of the index in the order of their weights on PostgreSQL. */
export const columns = { from: 'A', to: 'B', subject: 'C', body: 'D' } as const
export type Column = keyof typeof columns

/** Makes a new message findable, in the write that inserts it. */
export async function indexMessage(db: Db, row: MessageRow, podId: string): Promise<void> {
  const own = [marks.all, marks.inbox(row.inboxId), marks.pod(podId), marks.category(row.category)]
  own.push(marks.direction(row.direction))
  if (row.attachments !== '[]') own.push(marks.attachment)
  const tokens = tokensOf(row)
  if (dialectOf(db) === 'postgres') {
    await sql`insert into "messageSearch" ("messageId", "threadId", "createdAt", "document")
      values (${row.id}, ${row.threadId}, ${row.createdAt}, ${documentOf(own, tokens)}::tsvector)`.execute(db)
    return
  }
  const number = await freeNumber(db, Date.parse(row.createdAt) * numbersPerMs)
  await sql`insert into "messageSearch" ("rowid", "messageId", "threadId", "mark", "from", "to", "subject", "body")
    values (cast(${number} as integer), ${row.id}, ${row.threadId}, ${own.join(' ')}, ${tokens.from.join(' ')},
      ${tokens.to.join(' ')}, ${tokens.subject.join(' ')}, ${tokens.body.join(' ')})`.execute(db)
}

/** To be done before the messages themselves are deleted: their times find their entries. */
export async function unindexMessages(db: Db, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  if (dialectOf(db) === 'postgres') {
    await sql`delete from "messageSearch" where "messageId" in (${sql.join(ids)})`.execute(db)
    return
  }
  const rows = await db.selectFrom('message').select(['id', 'createdAt']).where('id', 'in', ids).execute()
  for (const { id, createdAt } of rows) {
    const number = Date.parse(createdAt) * numbersPerMs
    // Of so many in one millisecond that they spilled into the next, too.
    await sql`delete from "messageSearch" where "rowid" in (
      select "rowid" from "messageSearch" where "rowid" >= cast(${number} as integer)
        and "rowid" < cast(${number + 10 * numbersPerMs} as integer) and "messageId" = ${id} limit 1)`.execute(
      db,
    )
  }
}

/** The number after the last that is taken from `first` on. */
async function freeNumber(db: Db, first: number): Promise<number> {
  for (let number = first; ; ) {
    const { rows } = await sql<{ last: number }>`select "rowid" as "last" from "messageSearch"
      where "rowid" >= cast(${number} as integer) and "rowid" < cast(${number + numbersPerMs} as integer)
      order by "rowid" desc limit 1`.execute(db)
    const last = rows[0]?.last
    if (last === undefined) return number
    if (last < number + numbersPerMs - 1) return last + 1
    number = last + 1
  }
}

/** What a search for senders looks in. */
export function senderTokens(row: Pick<MessageRow, 'fromAddr' | 'addressNames'>): string[] {
  return indexTokens(`${row.fromAddr} ${readNames(row)[row.fromAddr.toLowerCase()] ?? ''}`)
}

function readNames({ addressNames }: Pick<MessageRow, 'addressNames'>): Record<string, string> {
  return JSON.parse(addressNames ?? '{}') as Record<string, string>
}

function tokensOf(row: MessageRow): Record<Column, string[]> {
  const list = (json: string) => JSON.parse(json) as string[]
  const names = readNames(row)
  const from = row.fromAddr.toLowerCase()
  const others = Object.keys(names).filter(address => address !== from)
  const attachments = JSON.parse(row.attachments) as { filename: string }[]
  return {
    from: senderTokens(row),
    to: indexTokens(
      [row.headerTo ?? row.toAddr, ...list(row.cc), ...list(row.bcc), ...others.map(one => names[one])].join(
        ' ',
      ),
    ),
    subject: indexTokens(row.subject),
    body: indexTokens([row.bodyText, ...attachments.map(one => one.filename)].join(' ')),
  }
}

/** The most that a tsvector holds: a position, and positions of one word. */
const lastPosition = 16_383
const positionsOfWord = 256

/** A tsvector as it is written. Its texts stand apart, so that no phrase reaches from one into the other. */
function documentOf(own: readonly string[], tokens: Record<Column, string[]>): string {
  const words = new Map<string, string[]>()
  let position = 0
  for (const [column, weight] of Object.entries(columns)) {
    for (const token of tokens[column as Column]) {
      position = Math.min(position + 1, lastPosition)
      const positions = words.get(token) ?? []
      if (positions.length < positionsOfWord) positions.push(`${position}${weight}`)
      words.set(token, positions)
    }
    position += 10
  }
  return [
    ...own.map(mark => `'=${mark}'`),
    ...[...words].map(([token, positions]) => `'${token}':${positions.join(',')}`),
  ].join(' ')
}
