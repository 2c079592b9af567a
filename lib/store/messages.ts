import type { Listed, Page } from '../model/page.ts'
import type { Db, WriteDb } from './dialect/dialect.ts'
import { insertRow } from './dialect/insert.ts'
import { keptRow, keptRows } from './dialect/kept.ts'
import { addToInbox, findInbox } from './inboxes.ts'
import { indexMessage } from './search/full-text.ts'
import type { InboxRow, MessageRow } from './tables.ts'

export async function insertMessage(db: WriteDb, row: MessageRow): Promise<void> {
  const inbox = await findInbox(db, row.inboxId)
  await insertRow(db, 'message', row)
  if (inbox) await indexMessage(db, row, inbox.podId)
  await addToInbox(db, row.inboxId, row.direction === 'inbound' ? { inbound: 1 } : { outbound: 1 })
}

export function findMessage(db: Db, id: string): Promise<MessageRow | undefined> {
  return messageById(db, { id })
}
const messageById = keptRow((db, given: { id: string }) =>
  db.selectFrom('message').selectAll().where('id', '=', given.id),
)

/** Those of these that are there, in no order. */
export async function listMessagesById(db: Db, ids: readonly string[]): Promise<MessageRow[]> {
  return db.selectFrom('message').selectAll().where('id', 'in', ids).execute()
}

/** Newest first; both directions, or one. */
export async function listInboxMessages(
  db: Db,
  inbox: Pick<InboxRow, 'id' | 'inboundCount' | 'outboundCount'>,
  filter: { direction: 'inbound' | 'outbound' | undefined },
  page: Page,
): Promise<Listed<MessageRow>> {
  const { direction } = filter
  const rows = await (direction
    ? messagesOfDirection(db, { inboxId: inbox.id, direction, limit: page.limit, offset: page.offset })
    : messagesOfInbox(db, { inboxId: inbox.id, limit: page.limit, offset: page.offset }))
  const inbound = direction === 'outbound' ? 0 : inbox.inboundCount
  const outbound = direction === 'inbound' ? 0 : inbox.outboundCount
  return { rows, total: inbound + outbound }
}
const messagesOfInbox = keptRows((db, given: PageOfInbox) => pageOfMessages(db, given, undefined))
const messagesOfDirection = keptRows((db, given: PageOfInbox & { direction: string }) =>
  pageOfMessages(db, given, given.direction),
)

type PageOfInbox = { inboxId: string; limit: number; offset: number }

/** The offset is walked on the index alone; only the rows of the page, with their bodies, are read. */
function pageOfMessages(db: Db, { inboxId, limit, offset }: PageOfInbox, direction: string | undefined) {
  let ids = db.selectFrom('message').select('id').where('inboxId', '=', inboxId)
  if (direction !== undefined) ids = ids.where('direction', '=', direction)
  return db
    .selectFrom('message')
    .selectAll()
    .where('id', 'in', ids.orderBy('id', 'desc').limit(limit).offset(offset))
    .orderBy('id', 'desc')
}

/** Oldest first, at most `limit`: the newest ones when the thread has more. */
export async function listThreadMessages(db: Db, threadId: string, limit: number): Promise<MessageRow[]> {
  const rows = await db
    .selectFrom('message')
    .selectAll()
    .where('threadId', '=', threadId)
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
  return rows.reverse()
}

/** The newest message of the thread. */
export async function findLastMessage(db: Db, threadId: string): Promise<MessageRow | undefined> {
  return db
    .selectFrom('message')
    .selectAll()
    .where('threadId', '=', threadId)
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
}

/** The thread of the newest message of this inbox that has this Message-ID (with angle brackets). */
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
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row?.threadId
}

export async function setMessageStatus(db: WriteDb, id: string, status: 'sent' | 'failed'): Promise<void> {
  await db.updateTable('message').set({ status }).where('id', '=', id).execute()
}

/** Who took part in a thread as its newest inbound messages that are clean say it, `limit` of them. */
export async function listThreadCorrespondents(
  db: Db,
  threadId: string,
  limit: number,
): Promise<Pick<MessageRow, 'fromAddr' | 'replyTo' | 'headerTo' | 'cc'>[]> {
  return db
    .selectFrom('message')
    .select(['fromAddr', 'replyTo', 'headerTo', 'cc'])
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
