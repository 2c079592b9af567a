import { sql } from 'kysely'
import type { Listed, Page } from '../model/page.ts'
import { addToDay } from './daily-usage.ts'
import type { Db, WriteDb } from './dialect/dialect.ts'
import { insertRow, insertRows } from './dialect/insert.ts'
import { prepared } from './dialect/prepared.ts'
import {
  type ListedMessageRow,
  listBytes,
  listedBytes,
  listedTurnBytes,
  listWithinBudget,
  takeListedTurn,
  takeTurnWithLarge,
} from './listed-messages.ts'
import { wholeMessages } from './search/whole-messages.ts'
import type { InboxRow, MessageRow, ReadingRow, WholeMessage } from './tables.ts'
import { leaveUnindexed } from './unindexed-bodies.ts'

/** Messages of one thread that are shown; of a longer one the newest. */
export const threadMessages = 1000

/** Inserts what a message says that is new. */
export async function insertReading(db: WriteDb, row: ReadingRow): Promise<void> {
  await insertRow(db, 'reading', row)
}

/** Inserts readings that are not there yet. */
export async function insertReadings(db: WriteDb, rows: readonly ReadingRow[]): Promise<void> {
  await insertRows(db, 'reading', rows, ['id'])
}

/** Inserts messages, whose readings are there, and notes them as to be indexed. Their inboxes and days are counted apart. */
export async function insertUncountedMessages(db: WriteDb, rows: readonly MessageRow[]): Promise<void> {
  await insertRows(db, 'message', rows)
  leaveUnindexed(
    db,
    rows.map(({ id }) => id),
  )
}

/** A message as it is written: its row, and what the day of its inbox counts. */
export interface NewMessage {
  readonly row: MessageRow
  readonly inbox: Pick<InboxRow, 'id' | 'podId' | 'isSystem'>
  /** The bytes of all its attachments. */
  readonly attachmentBytes: number
  /** The bytes of its raw. */
  readonly storedBytes: number
}

/** Inserts a message, whose reading is there; the index follows. What the inbox counts is for `addToInbox`. */
export async function insertMessage(db: WriteDb, message: NewMessage): Promise<void> {
  const { row, inbox, attachmentBytes, storedBytes } = message
  await insertUncountedMessages(db, [row])
  const direction = row.direction === 'inbound' ? { inbound: 1 } : { outbound: 1 }
  addToDay(db, inbox, row.createdAt, { ...direction, attachmentBytes, storedBytes })
}

export function findMessage(db: Db, id: string): Promise<MessageRow | undefined> {
  return messageById(db, { id })
}
const messageById = prepared((db, given: { id: string }) =>
  db.selectFrom('message').selectAll().where('id', '=', given.id),
).row

/** The message with what it says. */
export function findWholeMessage(db: Db, id: string): Promise<WholeMessage | undefined> {
  return wholeMessageById(db, { id })
}
const wholeMessageById = prepared((db, given: { id: string }) =>
  wholeMessages(db).where('message.id', '=', given.id),
).row

/** Newest first; both directions, or one. Beyond `listBytes` they are cut. */
export async function listInboxMessages(
  db: Db,
  inbox: Pick<InboxRow, 'id' | 'inboundCount' | 'outboundCount'>,
  filter: { direction: 'inbound' | 'outbound' | undefined },
  page: Page,
): Promise<Listed<ListedMessageRow>> {
  const { direction } = filter
  const given = { inboxId: inbox.id, limit: page.limit, offset: page.offset }
  const ofDirection = direction && { ...given, direction }
  await takeTurnWithLarge()
  const [size] = await (ofDirection ? bytesOfDirection(db, ofDirection) : bytesOfInbox(db, given))
  // A page of none has no size.
  const bytes = Number(size?.bytes ?? 0)
  if (bytes > listedTurnBytes) await takeListedTurn()
  const rows =
    bytes > listBytes
      ? await listWithinBudget(db, idsOfPage(db, given, direction))
      : await (ofDirection ? messagesOfDirection(db, ofDirection) : messagesOfInbox(db, given))
  const inbound = direction === 'outbound' ? 0 : inbox.inboundCount
  const outbound = direction === 'inbound' ? 0 : inbox.outboundCount
  return { rows, total: inbound + outbound }
}
type PageOfInbox = { inboxId: string; limit: number; offset: number }
type PageOfDirection = PageOfInbox & { direction: string }

const messagesOfInbox = prepared((db, given: PageOfInbox) => pageOfMessages(db, given, undefined)).rows
const messagesOfDirection = prepared((db, given: PageOfDirection) =>
  pageOfMessages(db, given, given.direction),
).rows
const bytesOfInbox = prepared((db, given: PageOfInbox) => bytesOf(db, given, undefined)).rows
const bytesOfDirection = prepared((db, given: PageOfDirection) => bytesOf(db, given, given.direction)).rows

function idsOfPage(db: Db, { inboxId, limit, offset }: PageOfInbox, direction: string | undefined) {
  const ids = db.selectFrom('message').select('id').where('inboxId', '=', inboxId)
  const chosen = direction === undefined ? ids : ids.where('direction', '=', direction)
  return chosen.orderBy('id', 'desc').limit(limit).offset(offset)
}

/** The offset is walked on the index alone; only the rows of the page, with their bodies, are read. */
function pageOfMessages(db: Db, given: PageOfInbox, direction: string | undefined) {
  return wholeMessages(db)
    .where('message.id', 'in', idsOfPage(db, given, direction))
    .orderBy('message.id', 'desc')
}

function bytesOf(db: Db, given: PageOfInbox, direction: string | undefined) {
  return db
    .selectFrom('message')
    .innerJoin('reading', 'reading.id', 'message.readingId')
    .select(eb => eb.fn.sum<number>(listedBytes).as('bytes'))
    .where('message.id', 'in', idsOfPage(db, given, direction))
}

/** Those of these that are there, newest first. Beyond `listBytes` they are cut. */
export function listShownMessages(db: Db, ids: readonly string[]): Promise<ListedMessageRow[]> {
  return ids.length === 0 ? Promise.resolve([]) : listWithinBudget(db, ids)
}

/**
 * Oldest first, at most `limit`: the newest ones when the thread has more. Beyond `listBytes` the older ones are
 * cut.
 */
export async function listThreadMessages(
  db: Db,
  threadId: string,
  limit: number,
): Promise<ListedMessageRow[]> {
  const ids = db
    .selectFrom('message')
    .select('id')
    .where('threadId', '=', threadId)
    .orderBy('id', 'desc')
    .limit(limit)
  const rows = await listWithinBudget(db, ids)
  return rows.reverse()
}

/** The ids of the newest inbound messages of an inbox, newest first, at most `limit`. */
export async function listNewestInbound(db: Db, inboxId: string, limit: number): Promise<string[]> {
  return (await newestInbound(db, { inboxId, limit })).map(row => row.id)
}
const newestInbound = prepared((db, given: { inboxId: string; limit: number }) =>
  db
    .selectFrom('message')
    .select('id')
    .where('inboxId', '=', given.inboxId)
    .where('direction', '=', sql.lit('inbound'))
    .orderBy('id', 'desc')
    .limit(given.limit),
).rows

/** The ids of the inbound messages of an inbox that are after this id, or of all of them where it is empty, in order, at most `limit`. */
export async function listInboundAfter(
  db: Db,
  inboxId: string,
  after: string,
  limit: number,
): Promise<string[]> {
  return (await inboundAfter(db, { inboxId, after, limit })).map(row => row.id)
}
const inboundAfter = prepared((db, given: { inboxId: string; after: string; limit: number }) =>
  db
    .selectFrom('message')
    .select('id')
    .where('inboxId', '=', given.inboxId)
    .where('direction', '=', sql.lit('inbound'))
    .where('id', '>', given.after)
    .orderBy('id')
    .limit(given.limit),
).rows

/** What decides which message of a thread a reply answers. */
export type AnswerableRow = Pick<
  MessageRow,
  'id' | 'direction' | 'fromAddr' | 'verdict' | 'category' | 'fromProven'
>

/** The newest messages of a thread, newest first, at most `threadMessages`. */
export function listAnswerable(db: Db, threadId: string): Promise<AnswerableRow[]> {
  return db
    .selectFrom('message')
    .select(['id', 'direction', 'fromAddr', 'verdict', 'category', 'fromProven'])
    .where('threadId', '=', threadId)
    .orderBy('id', 'desc')
    .limit(threadMessages)
    .execute()
}

/** The oldest messages of a thread, oldest first, as far as they say who takes part in it. */
export function listOldestOfThread(db: Db, threadId: string, limit: number) {
  return db
    .selectFrom('message')
    .select(['direction', 'fromAddr', 'replyTo', 'toAddr', 'headerTo', 'cc', 'bcc', 'verdict', 'fromProven'])
    .where('threadId', '=', threadId)
    .orderBy('id')
    .limit(limit)
    .execute()
}

/** The thread of the message of this inbox that had this Message-ID (with angle brackets) first, one that it sent before all others. */
export async function findThreadIdByMessageId(
  db: Db,
  inboxId: string,
  rfcMessageId: string,
): Promise<string | undefined> {
  const row = await db
    .selectFrom('message')
    .select('threadId')
    .where('inboxId', '=', inboxId)
    .where('rfcMessageId', '=', rfcMessageId)
    // Others can write an id that they have seen, but not before it was ours.
    .orderBy(sql`"direction" = 'outbound'`, 'desc')
    .orderBy('id')
    .limit(1)
    .executeTakeFirst()
  return row?.threadId
}

/** How many messages of the same Message-IDs are looked at: a stranger may send any number with one. */
const sameIdRows = 256

/**
 * Lists what these inboxes have received since then under these Message-IDs, with the size of each raw, in no order: to sort for one
 * inbox, SQLite walks through all that it has received, not through the index of Message-IDs.
 */
export const listReceivedAs = prepared(
  (db, { since }: { since: string }, inboxIds = [], rfcMessageIds = []) =>
    db
      .selectFrom('message')
      .innerJoin('raw', 'raw.id', 'message.rawId')
      .select([
        'message.id',
        'message.inboxId',
        'message.rfcMessageId',
        'message.fromProven',
        'message.verdict',
      ])
      .select('raw.sha256')
      .where('message.inboxId', 'in', inboxIds)
      .where('message.rfcMessageId', 'in', rfcMessageIds)
      .where('message.direction', '=', 'inbound')
      .where('message.createdAt', '>=', since)
      .limit(sameIdRows),
).rows

/** Who wrote the newest inbound messages of a thread that are clean, and where they want answers: `limit` of them. */
export async function listThreadAuthors(
  db: Db,
  threadId: string,
  limit: number,
): Promise<Pick<MessageRow, 'fromAddr' | 'replyTo'>[]> {
  return db
    .selectFrom('message')
    .select(['fromAddr', 'replyTo'])
    .where('threadId', '=', threadId)
    .where('direction', '=', 'inbound')
    .where('verdict', '=', 'clean')
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
}

/**
 * When the messages passed that went between the inbox of a thread and `peer`, the address of another inbox here, or
 * that with a tag, since an instant: newest first, at most `limit`. Only the `lookback` newest messages of the thread
 * are looked at.
 */
export async function listExchanges(
  db: Db,
  threadId: string,
  peer: string,
  within: { since: string; lookback: number; limit: number },
): Promise<string[]> {
  const at = peer.lastIndexOf('@')
  const [localPart, domain] = [peer.slice(0, at), peer.slice(at)]
  const newest = db
    .selectFrom('message')
    .select('id')
    .where('threadId', '=', threadId)
    .orderBy('id', 'desc')
    .limit(within.lookback)
  const rows = await db
    .selectFrom('message')
    .select('createdAt')
    .where('id', 'in', newest)
    .where('createdAt', '>', within.since)
    .where(eb =>
      eb.or([
        eb.and([eb('direction', '=', 'inbound'), eb('fromAddr', '=', peer)]),
        eb.exists(
          eb
            .selectFrom('delivery')
            .select('delivery.id')
            .whereRef('delivery.messageId', '=', 'message.id')
            .where(delivery =>
              delivery.or([
                delivery('delivery.recipient', '=', peer),
                // All that begins with "name+": the comma is the character after the plus.
                delivery.and([
                  delivery('delivery.recipient', '>', `${localPart}+`),
                  delivery('delivery.recipient', '<', `${localPart},`),
                  delivery('delivery.recipient', 'like', `%${domain}`),
                ]),
              ]),
            ),
        ),
      ]),
    )
    .orderBy('id', 'desc')
    .limit(within.limit)
    .execute()
  return rows.map(row => row.createdAt)
}
