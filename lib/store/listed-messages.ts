import { type SelectQueryBuilder, sql } from 'kysely'
import { takeTurns } from '../base/concurrency.ts'
import type { Db } from './dialect/dialect.ts'
import { wholeMessages } from './search/whole-messages.ts'
import type { Tables, WholeMessage } from './tables.ts'

/**
 * The texts of the messages of one list: beyond so many bytes each is cut to its beginning (in characters), its HTML
 * and its longer lists (in bytes) left out, and the message says `bodyTruncated`. Bytes of such rows are walked over in
 * one turn of the event loop.
 */
export const listBytes = 2 * 1024 * 1024
export const listedTextLength = 1000
const listedFieldBytes = 2048
const listedSliceBytes = 8 * 1024 * 1024
/** A page or a message of more than this is read in a turn of the event loop of its own, so that many of them leave others theirs. */
export const listedTurnBytes = 256 * 1024

/** A row as lists show it. `isCut`: its texts are cut and its long lists left out, for the answer would be too large. */
export interface ListedMessageRow extends WholeMessage {
  readonly isCut?: true
}

const textAgain = sql`case when octet_length("reading"."extracted") > 4000 then
    case when octet_length("reading"."bodyText") > octet_length("reading"."extracted")
      then octet_length("reading"."bodyText") - octet_length("reading"."extracted") else 0 end
  when substr("reading"."extracted", 1, 17) = '{"replyText":null' then octet_length("reading"."bodyText") else 0 end`

/**
 * What a row brings to an answer, in bytes. Both databases know the length of a text without reading it. A replyText that is the
 * text is kept once and told twice; of a long `extracted` only the length is looked at, and what may be such a one is counted as one.
 */
export const listedBytes = sql<number>`octet_length("reading"."bodyText") + octet_length("reading"."bodyHtml") + ${textAgain}
  + coalesce(octet_length("reading"."extracted"), 0) + octet_length("reading"."attachments")
  + octet_length("reading"."parseProblems") + octet_length("message"."references")
  + coalesce(octet_length("message"."addressNames"), 0) + coalesce(octet_length("message"."headerTo"), 0)
  + coalesce(octet_length("message"."replyTo"), 0)
  + octet_length("message"."cc") + octet_length("message"."bcc") + octet_length("message"."subject")`

const takeTurn = takeTurns()
let waiting = 0

/** The turn of a page that is large: what is read and shown of it holds the event loop, and many are asked for at once. */
export async function takeListedTurn(): Promise<void> {
  waiting++
  try {
    await takeTurn()
  } finally {
    waiting--
  }
}

/**
 * Resolves when the sizes of a page may be asked: at once, unless a large one waits for its turn. The database steps over
 * long texts to come to the sizes behind them, and of many such pages each is to take a turn of its own for that, too.
 */
export async function takeTurnWithLarge(): Promise<void> {
  if (waiting > 0) await takeListedTurn()
}

/** Resolves when the message may be read and shown: at once, unless it is large. */
export async function takeTurnIfLarge(db: Db, id: string): Promise<void> {
  await takeTurnWithLarge()
  const row = await db
    .selectFrom('message')
    .innerJoin('reading', 'reading.id', 'message.readingId')
    .select(listedBytes.as('bytes'))
    .where('message.id', '=', id)
    .executeTakeFirst()
  if (Number(row?.bytes ?? 0) > listedTurnBytes) await takeListedTurn()
}

type Ids = SelectQueryBuilder<Tables, 'message', { id: string }> | readonly string[]

/**
 * Those of these messages that are there, newest first: whole as long as all of them together have at most
 * `listBytes`, and the others cut. Of a text that is cut no more is read than is shown, and of long rows only
 * so many in one turn of the event loop.
 */
export async function listWithinBudget(db: Db, ids: Ids): Promise<ListedMessageRow[]> {
  await takeTurnWithLarge()
  const sizes = await db
    .selectFrom('message')
    .innerJoin('reading', 'reading.id', 'message.readingId')
    .select(['message.id', listedBytes.as('bytes')])
    .where('message.id', 'in', ids)
    .orderBy('message.id', 'desc')
    .execute()
  if (sizes.reduce((sum, { bytes }) => sum + Number(bytes), 0) > listedTurnBytes) await takeListedTurn()
  const { whole, cut } = divide(sizes)
  const rows = new Map<string, ListedMessageRow>()
  if (whole.length > 0) {
    for (const row of await wholeMessages(db).where('message.id', 'in', whole).execute()) {
      rows.set(row.id, row)
    }
  }
  for (const some of inSlices(cut)) {
    await takeListedTurn()
    for (const row of await listCut(db, some)) rows.set(row.id, row)
  }
  return sizes.flatMap(({ id }) => rows.get(id) ?? [])
}

/** By when they were received: ids are of the clocks of several nodes. */
export function newestFirst(rows: readonly ListedMessageRow[]): ListedMessageRow[] {
  return rows.toSorted((a, b) => (a.createdAt > b.createdAt ? -1 : 1))
}

interface Sized {
  readonly id: string
  readonly bytes: number
}

/** Which of these rows an answer has room for as they are, the first ones first. */
export function divide(rows: readonly Sized[]): { readonly whole: string[]; readonly cut: Sized[] } {
  let left: number = listBytes
  const whole: string[] = []
  const cut: Sized[] = []
  for (const row of rows) {
    const one = { id: row.id, bytes: Number(row.bytes) }
    if (one.bytes > left) cut.push(one)
    else {
      left -= one.bytes
      whole.push(one.id)
    }
  }
  return { whole, cut }
}

/** As many as one turn of the event loop reads: the database steps over all of a long row to come to its last columns. */
export function inSlices(rows: readonly Sized[]): string[][] {
  const slices: string[][] = []
  let room = 0
  for (const { id, bytes } of rows) {
    if (room <= 0) {
      slices.push([])
      room = listedSliceBytes
    }
    slices.at(-1)!.push(id)
    room -= bytes
  }
  return slices
}

async function listCut(db: Db, ids: readonly string[]): Promise<ListedMessageRow[]> {
  const short = <Column extends keyof WholeMessage>(column: Column, instead: string | null) =>
    sql<WholeMessage[Column]>`case when octet_length(${sql.ref(column)}) <= ${sql.lit(listedFieldBytes)}
      then ${sql.ref(column)} else ${sql.lit(instead)} end`.as(column)
  const beginning = <Column extends keyof WholeMessage>(column: Column) =>
    sql<WholeMessage[Column]>`substr(${sql.ref(column)}, 1, ${sql.lit(listedTextLength)})`.as(column)
  const rows = await db
    .selectFrom('message')
    .innerJoin('reading', 'reading.id', 'message.readingId')
    .select([
      'message.id',
      'inboxId',
      'threadId',
      'direction',
      'status',
      'rawId',
      'rfcMessageId',
      'inReplyTo',
      short('references', '[]'),
      'mailFrom',
      sql<string>`''`.as('trace'),
      'fromAddr',
      'toAddr',
      beginning('headerTo'),
      'deliveryRole',
      beginning('replyTo'),
      short('cc', '[]'),
      short('bcc', '[]'),
      short('addressNames', null),
      beginning('subject'),
      beginning('bodyText'),
      // Half a document of HTML is none.
      sql<string>`''`.as('bodyHtml'),
      short('attachments', '[]'),
      'category',
      'autoReplyable',
      'verdict',
      'authentication',
      'fromProven',
      'isNewInThread',
      'autoReplyReason',
      'createdAt',
      'readingId',
      short('parseProblems', '[]'),
      // What stands in the rows of which nothing was extracted.
      short('extracted', '{"replyText":null,"otp":null,"links":[]}'),
    ])
    .where('message.id', 'in', ids)
    .execute()
  return rows.map(row => ({ ...row, isCut: true }))
}
