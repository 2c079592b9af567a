import { sql } from 'kysely'
import { type Db, dialectOf, type WriteDb } from '../dialect/dialect.ts'
import { prepared } from '../dialect/prepared.ts'
import type { SearchWords } from './words.ts'

/** Pages of the index that one step merges. */
const indexMergePages = 64

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

/** What the index knows of a message. */
export interface Indexed {
  readonly id: string
  readonly inboxId: string
  readonly podId: string
  readonly threadId: string
  readonly category: string
  readonly direction: string
  readonly createdAt: string
  readonly hasAttachments: boolean
  readonly words: SearchWords
}

/** Makes messages findable. */
export async function indexMessages(db: WriteDb, messages: readonly Indexed[]): Promise<void> {
  if (dialectOf(db) === 'sqlite') for (const message of messages) await indexMessage(db, message)
  else if (messages.length > 0) {
    const documents = messages.map(one => documentOf(marksOf(one), one.words))
    await sql`insert into "messageSearch" ("messageId", "threadId", "createdAt", "document")
      select "id", "threadId", "createdAt", "document"::tsvector
      from unnest(${messages.map(({ id }) => id)}::text[], ${messages.map(({ threadId }) => threadId)}::text[],
        ${messages.map(({ createdAt }) => createdAt)}::text[], ${documents}::text[]) as "given"("id", "threadId", "createdAt", "document")`.execute(
      db,
    )
  }
}

async function indexMessage(db: WriteDb, message: Indexed): Promise<void> {
  const { id, threadId, createdAt, words } = message
  const mark = marksOf(message).join(' ')
  // The number after the last that is taken in its millisecond, or in the next one that is not full.
  for (let from = Date.parse(createdAt) * numbersPerMs; ; from += numbersPerMs) {
    const given = { ...words, firstNumber: from, endNumber: from + numbersPerMs, id, threadId, mark }
    if ((await insertEntry(db, given)) > 0) return
  }
}

type Entry = { [Name in keyof SearchWords]: string } & {
  firstNumber: number
  endNumber: number
  id: string
  threadId: string
  mark: string
}
const insertEntry = prepared((db, given: Entry) => ({
  compile: () =>
    sql`insert into "messageSearch" ("rowid", "messageId", "threadId", "mark", "from", "to", "subject", "body")
      select "number", ${given.id}, ${given.threadId}, ${given.mark}, ${given.from}, ${given.to}, ${given.subject}, ${given.body}
      from (select coalesce((select "rowid" + 1 from "messageSearch"
        where "rowid" >= cast(${given.firstNumber} as integer) and "rowid" < cast(${given.endNumber} as integer)
        order by "rowid" desc limit 1), cast(${given.firstNumber} as integer)) as "number")
      where "number" < cast(${given.endNumber} as integer)`.compile(db),
})).change

function marksOf({ inboxId, podId, category, direction, hasAttachments }: Indexed): string[] {
  const own = [marks.all, marks.inbox(inboxId), marks.pod(podId), marks.category(category)]
  own.push(marks.direction(direction))
  if (hasAttachments) own.push(marks.attachment)
  return own
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

/**
 * Merges `indexMergePages` pages of the index, so that a search has few segments to look into. FTS5 does this in whatever
 * write fills a segment up, as much as there is, unless it is told not to (schema.sql).
 * @returns whether there was anything to merge
 */
export async function mergeIndex(db: WriteDb): Promise<boolean> {
  const before = await changes(db)
  await sql`insert into "messageSearch" ("messageSearch", "rank")
    values ('merge', cast(${indexMergePages} as integer))`.execute(db)
  // The command itself counts as one (FTS5, section "The 'merge' Command").
  return (await changes(db)) - before >= 2
}

/** Makes one segment of the index, in which nothing is that was deleted. */
export async function optimizeIndex(db: WriteDb): Promise<void> {
  await sql`insert into "messageSearch" ("messageSearch") values ('optimize')`.execute(db)
}

/** Rows that the connection has changed since it was opened. */
async function changes(db: Db): Promise<number> {
  const { rows } = await sql<{ count: number }>`select total_changes() as "count"`.execute(db)
  return rows[0]!.count
}

/** The most that a tsvector holds: a position, and positions of one word. */
const lastPosition = 16_383
const positionsOfWord = 256

/** A tsvector as it is written. Its texts stand apart, so that no phrase reaches from one into the other. */
function documentOf(own: readonly string[], texts: SearchWords): string {
  const words = new Map<string, string[]>()
  let position = 0
  for (const [column, weight] of Object.entries(columns)) {
    for (const token of texts[column as Column].split(' ')) {
      if (token === '') continue
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
