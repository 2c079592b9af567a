import { type RawBuilder, sql } from 'kysely'
import type { Scope } from '../../base/ids.ts'
import type { Listed, Page } from '../../model/page.ts'
import { type Db, dialectOf } from '../dialect/dialect.ts'
import type { MessageRow, ThreadRow } from '../tables.ts'
import type { SearchFilter } from './filter.ts'
import { type Column, columns, marks, numbersPerMs } from './full-text.ts'
import { indexWaiting, listWaiting, type WaitingMessages, waitingMessages } from './waiting.ts'
import { type Phrase, readPhrase, readTerms } from './words.ts'

/** The newest messages that match a search: how many are counted and paged through. */
export const searchMatches = 100_000
/** The same in a search for threads, where the thread of each match must be looked up. */
const searchThreadMatches = 15_000

interface Condition extends Phrase {
  readonly isExcluded: boolean
  /** Undefined: in any column. */
  readonly column?: Column
}

/** What is looked for, before it is put in the words of a database. */
interface Query {
  readonly marks: readonly string[]
  readonly withoutMarks: readonly string[]
  readonly conditions: readonly Condition[]
  readonly after: string | undefined
  readonly before: string | undefined
}

/**
 * The ids of the messages that match, newest first. The cost is bounded: no more than `searchMatches` of the newest matches
 * are counted and paged through, so `total` is exact up to there.
 * @param known the total, when it is known already
 */
export async function searchMessages(
  db: Db,
  scope: Scope,
  filter: SearchFilter,
  page: Page,
  known?: number,
): Promise<Listed<string>> {
  const query = await readQuery(db, scope, filter)
  if (query === undefined) return { rows: [], total: 0 }
  const match = matching(db, query)
  const waiting = hasWords(query) ? undefined : waitingMessages(db, scope, filter)
  // Of the index so many are before the page, whatever waits.
  const before = Math.max(0, page.offset - (waiting ? indexWaiting : 0))
  const most = Math.max(0, Math.min(page.offset + page.limit, searchMatches) - before)
  const indexed = sql`select "messageId", ${match.order} as "at" ${match.from} order by ${match.newestFirst} limit ${most} offset ${before}`
  // In one statement: between two, what waits is moved into the index, and would be in both.
  const found = await sql<{ messageId: string }>`select "messageId" from (
      ${waiting ? sql`select "id" as "messageId", "id" as "at", 1 as "waits" from ${waiting} as "waiting" union all` : sql``}
      select "messageId", "at", 0 as "waits" from (${indexed}) as "indexed"
    ) as "found" order by "waits" desc, "at" desc limit ${page.limit} offset ${page.offset - before}`.execute(
    db,
  )
  const rows = found.rows.map(row => row.messageId)
  return { rows, total: known ?? (await countMessages(db, match, waiting)) }
}

/** The short columns of a message that matches. In one inbox no two have the same `createdAt`. */
export type IndexedMessage = Pick<MessageRow, 'id' | 'createdAt' | 'category' | 'fromAddr' | 'fromProven'>

/** The messages in the index that match, oldest first, at most `limit`: what is not in it yet is for `listEarliestWaiting`, asked before. */
export async function searchEarliest(
  db: Db,
  scope: Scope,
  filter: SearchFilter,
  limit: number,
): Promise<IndexedMessage[]> {
  const query = await readQuery(db, scope, filter)
  if (query === undefined) return []
  const { from, oldestFirst } = matching(db, query)
  const { rows } =
    await sql<IndexedMessage>`select "id", "createdAt", "category", "fromAddr", "fromProven" from "message"
    where "id" in (select "messageId" from (select "messageId" ${from} order by ${oldestFirst} limit ${limit}) as "found")
    order by "createdAt", "id"`.execute(db)
  return rows
}

/**
 * The threads in which a message matches, the one with the newest such message first. Of the newest matches no more
 * than `searchThreadMatches` are looked at, so `total` is exact up to there.
 * @param known the total, when it is known already
 */
export async function searchThreads(
  db: Db,
  scope: Scope,
  filter: SearchFilter & { readonly isRead?: boolean | undefined },
  page: Page,
  known?: number,
): Promise<Listed<ThreadRow>> {
  const query = await readQuery(db, scope, filter)
  if (query === undefined) return { rows: [], total: 0 }
  const waiting = hasWords(query) ? [] : await listWaiting(db, scope, filter)
  const first = [...new Set(waiting.map(({ threadId }) => threadId))]
  const others = await findThreads(
    db,
    matching(db, query),
    { isRead: filter.isRead, except: first },
    {
      limit: Math.max(0, page.limit - Math.max(0, first.length - page.offset)),
      offset: Math.max(0, page.offset - first.length),
    },
    known === undefined ? undefined : Math.max(0, known - first.length),
  )
  const ids = [...first.slice(page.offset, page.offset + page.limit), ...others.ids]
  const total = others.total + first.length
  if (ids.length === 0) return { rows: [], total }
  const rows = await db.selectFrom('thread').selectAll().where('id', 'in', ids).execute()
  const byId = new Map(rows.map(row => [row.id, row]))
  return { rows: ids.flatMap(id => byId.get(id) ?? []), total }
}

async function findThreads(
  db: Db,
  match: Match,
  threads: { readonly isRead: boolean | undefined; readonly except: readonly string[] },
  page: Page,
  known: number | undefined,
): Promise<{ ids: string[]; total: number }> {
  const most = searchThreadMatches
  const found = (looked: number) => sql`from (
      select "threadId", ${match.order} as "at" ${match.from} order by ${match.newestFirst} limit ${looked}
    ) as "found" ${ofThreads(threads)}`
  // When nothing is to be counted, few messages will do: that the newest are of so few threads is seldom.
  const few = (page.offset + page.limit) * 10
  for (const looked of known === undefined || few > most ? [most] : [few, most]) {
    const { rows } = await sql<{ threadId: string; total: number }>`
      select "threadId", count(*) over () as "total" ${found(looked)}
      group by "threadId" order by max("at") desc limit ${page.limit} offset ${page.offset}`.execute(db)
    const ids = rows.map(row => row.threadId)
    if (looked < most && rows.length < page.limit) continue
    if (known !== undefined) return { ids, total: known }
    // The count stands beside the rows, and a page beyond the end has none.
    if (rows[0]) return { ids, total: rows[0].total }
  }
  const { rows } = await sql<{
    total: number
  }>`select count(distinct "threadId") as "total" ${found(most)}`.execute(db)
  return { ids: [], total: known ?? rows[0]?.total ?? 0 }
}

function ofThreads({
  isRead,
  except,
}: {
  readonly isRead: boolean | undefined
  readonly except: readonly string[]
}): RawBuilder<unknown> {
  const read =
    isRead === undefined
      ? sql``
      : sql`inner join "thread" on "thread"."id" = "threadId" and "thread"."isRead" = ${isRead ? 1 : 0}`
  return except.length === 0 ? read : sql`${read} where "threadId" not in (${sql.join(except)})`
}

/** Whether it asks for words: who does sees what the index has. */
function hasWords({ conditions }: Query): boolean {
  return conditions.length > 0
}

async function countMessages(db: Db, match: Match, waiting: WaitingMessages | undefined): Promise<number> {
  const { rows } = await sql<{ total: number }>`select
      (select count(*) from (select 1 ${match.from} limit ${searchMatches}) as "found")
      + ${waiting ? sql`(select count(*) from ${waiting} as "waiting")` : sql`0`} as "total"`.execute(db)
  return rows[0]?.total ?? 0
}

/** Undefined when something is asked for that has no word in it, which nothing has. */
async function readQuery(db: Db, scope: Scope, filter: SearchFilter): Promise<Query | undefined> {
  const conditions: Condition[] = []
  for (const column of ['q', 'subject'] as const) {
    const asked = filter[column]
    if (asked === undefined || asked.trim() === '') continue
    const terms = readTerms(asked)
    if (terms.length === 0) return undefined
    conditions.push(...terms.map(term => (column === 'q' ? term : { ...term, column })))
  }
  for (const column of ['from', 'to'] as const) {
    const asked = filter[column]
    if (asked === undefined || asked.trim() === '') continue
    const phrase = readPhrase(asked)
    if (!phrase) return undefined
    conditions.push({ ...phrase, isExcluded: false, column })
  }
  const own: string[] = []
  const without: string[] = []
  if (filter.category !== undefined) own.push(marks.category(filter.category))
  if (filter.direction !== undefined) own.push(marks.direction(filter.direction))
  if (filter.hasAttachment === true) own.push(marks.attachment)
  if (filter.hasAttachment === false) without.push(marks.attachment)
  if (scope.inboxId !== null) own.push(marks.inbox(scope.inboxId))
  else {
    if (scope.podId !== null) own.push(marks.pod(scope.podId))
    without.push(...(await inboxesToPurge(db)).map(marks.inbox))
  }
  // Every message has this one: something must be there for the rest to be taken from.
  if (own.length === 0 && conditions.every(one => one.isExcluded)) own.push(marks.all)
  without.push(...(filter.exceptCategories ?? []).map(marks.category))
  return { marks: own, withoutMarks: without, conditions, after: filter.after, before: filter.before }
}

/** Deleted inboxes whose messages are still there. */
async function inboxesToPurge(db: Db): Promise<string[]> {
  const rows = await db
    .selectFrom('inbox')
    .select('id')
    .where('deletedAt', 'is not', null)
    .where('purgedAt', 'is', null)
    .where(eb => eb('inboundCount', '>', 0).or('outboundCount', '>', 0))
    .execute()
  return rows.map(row => row.id)
}

/** `from … where …` of the index, and what its entries are ordered by. */
interface Match {
  readonly from: RawBuilder<unknown>
  readonly order: RawBuilder<unknown>
  readonly newestFirst: RawBuilder<unknown>
  readonly oldestFirst: RawBuilder<unknown>
}

function matching(db: Db, query: Query): Match {
  return dialectOf(db) === 'postgres' ? matchingTsvector(query) : matchingFts5(query)
}

const shown = '{from to subject body}'

function matchingFts5(query: Query): Match {
  const one = ({ tokens, isOpen, column }: Condition) =>
    `${column ?? shown} : "${tokens.join(' ')}"${isOpen ? ' *' : ''}`
  const wanted = [
    ...query.marks.map(mark => `mark : ${mark}`),
    ...query.conditions.filter(condition => !condition.isExcluded).map(one),
  ]
  const unwanted = [
    ...query.withoutMarks.map(mark => `mark : ${mark}`),
    ...query.conditions.filter(condition => condition.isExcluded).map(one),
  ]
  const text = `(${wanted.join(' AND ')})${unwanted.length === 0 ? '' : ` NOT (${unwanted.join(' OR ')})`}`
  const { after, before } = query
  const since =
    after === undefined
      ? sql``
      : sql`and "rowid" >= cast(${(Date.parse(after) + 1) * numbersPerMs} as integer)`
  const until =
    before === undefined ? sql`` : sql`and "rowid" < cast(${Date.parse(before) * numbersPerMs} as integer)`
  return {
    from: sql`from "messageSearch" where "messageSearch" match ${text} ${since} ${until}`,
    order: sql.ref('rowid'),
    newestFirst: sql`"rowid" desc`,
    oldestFirst: sql`"rowid"`,
  }
}

function matchingTsvector(query: Query): Match {
  const one = ({ tokens, isOpen, column }: Condition) => {
    const weight = column === undefined ? '' : columns[column]
    const words = tokens.map((token, index) => {
      const labels = `${isOpen && index === tokens.length - 1 ? '*' : ''}${weight}`
      return `'${token}'${labels === '' ? '' : `:${labels}`}`
    })
    return `(${words.join(' <-> ')})`
  }
  const text = [
    ...query.marks.map(mark => `'=${mark}'`),
    ...query.withoutMarks.map(mark => `!'=${mark}'`),
    ...query.conditions.map(condition => `${condition.isExcluded ? '!' : ''}${one(condition)}`),
  ].join(' & ')
  const { after, before } = query
  const since = after === undefined ? sql`` : sql`and "createdAt" > ${after}`
  const until = before === undefined ? sql`` : sql`and "createdAt" < ${before}`
  return {
    from: sql`from "messageSearch" where "document" @@ ${text}::tsquery ${since} ${until}`,
    order: sql`"createdAt" || "messageId"`,
    newestFirst: sql`"createdAt" desc, "messageId" desc`,
    oldestFirst: sql`"createdAt", "messageId"`,
  }
}
