import { sql } from 'kysely'
import type { Db, WriteDb } from './dialect/dialect.ts'
import { changeRow, insertRow, insertRows } from './dialect/insert.ts'
import { prepared } from './dialect/prepared.ts'
import { holdsOfDelivery } from './standing-holds.ts'
import type { AttemptRow, DeliveryRow, MessageRow, RawRow } from './tables.ts'

export async function insertDeliveries(db: WriteDb, rows: readonly DeliveryRow[]): Promise<void> {
  await insertRows(db, 'delivery', rows)
}

export async function findDelivery(db: Db, id: string): Promise<DeliveryRow | undefined> {
  return deliveryById(db, { id })
}
const deliveryById = prepared((db, given: { id: string }) =>
  db.selectFrom('delivery').selectAll().where('id', '=', given.id),
).row

/** What an attempt needs to know of the inbox that sends. */
export interface SendingInbox {
  readonly id: string
  readonly podId: string
  readonly isSystem: number
  readonly suspendedAt: string | null
}

/** What an attempt needs to know of the message. */
export type CarriedMessage = Pick<
  MessageRow,
  | 'id'
  | 'inboxId'
  | 'threadId'
  | 'rawId'
  | 'rfcMessageId'
  | 'mailFrom'
  | 'trace'
  | 'fromAddr'
  | 'subject'
  | 'createdAt'
>

/** A delivery with all that an attempt begins with. */
export interface CarriedDelivery {
  readonly delivery: DeliveryRow
  readonly message: CarriedMessage
  /** Undefined for a message whose bytes are made when it is carried. */
  readonly raw: Pick<RawRow, 'id' | 'sizeBytes' | 'sha256' | 'content'> | undefined
  /** The one that sends; undefined when it was deleted. */
  readonly inbox: SendingInbox | undefined
  /** Whether the operator holds it with all that is like it (lib/store/standing-holds.ts). */
  readonly isHeld: boolean
  /** Whether the suppression list speaks of its recipient, for whatever pod and until whenever. */
  readonly isListed: boolean
}

/** One statement, for it is what every delivery begins with; undefined when the message was deleted. */
export async function findDeliveryToCarry(db: Db, id: string): Promise<CarriedDelivery | undefined> {
  const row = await deliveryToCarry(db, { id })
  if (!row) return undefined
  const {
    foundInboxId,
    podId,
    isSystem,
    suspendedAt,
    foundRawId,
    rawBytes,
    rawSha256,
    content,
    holds,
    listed,
    ...rest
  } = row
  const {
    inboxId,
    threadId,
    rawId,
    rfcMessageId,
    ofMessage,
    trace,
    fromAddr,
    subject,
    writtenAt,
    ...delivery
  } = rest
  const message = { inboxId, threadId, rawId, rfcMessageId, mailFrom: ofMessage, trace, fromAddr, subject }
  const isThere = foundInboxId !== null && podId !== null && isSystem !== null
  return {
    delivery,
    message: { ...message, id: delivery.messageId, createdAt: writtenAt },
    raw:
      foundRawId === null
        ? undefined
        : { id: foundRawId, sizeBytes: rawBytes ?? 0, sha256: rawSha256 ?? '', content },
    inbox: isThere ? { id: foundInboxId, podId, isSystem, suspendedAt } : undefined,
    isHeld: Number(holds) > 0,
    isListed: listed !== null,
  }
}
const deliveryToCarry = prepared((db, given: { id: string }) =>
  db
    .selectFrom('delivery')
    .innerJoin('message', 'message.id', 'delivery.messageId')
    .leftJoin('raw', 'raw.id', 'message.rawId')
    .leftJoin('inbox', join =>
      join.onRef('inbox.id', '=', 'message.inboxId').on('inbox.deletedAt', 'is', null),
    )
    .selectAll('delivery')
    .select(['message.inboxId', 'message.threadId', 'message.rawId', 'message.mailFrom as ofMessage'])
    .select([
      'message.rfcMessageId',
      'message.trace',
      'message.fromAddr',
      'message.subject',
      'message.createdAt as writtenAt',
    ])
    .select(['raw.id as foundRawId', 'raw.sizeBytes as rawBytes', 'raw.sha256 as rawSha256', 'raw.content'])
    .select(['inbox.id as foundInboxId', 'inbox.podId', 'inbox.isSystem', 'inbox.suspendedAt'])
    .select(holdsOfDelivery.as('holds'))
    .select(eb =>
      eb
        .selectFrom('suppression')
        .select('suppression.recipient')
        .whereRef('suppression.recipient', '=', 'delivery.recipient')
        .limit(1)
        .as('listed'),
    )
    .where('delivery.id', '=', given.id),
).row

/** The delivery that has this reverse-path of its own (lower-case). */
export async function findDeliveryByMailFrom(db: Db, mailFrom: string): Promise<DeliveryRow | undefined> {
  return db.selectFrom('delivery').selectAll().where('mailFrom', '=', mailFrom).limit(1).executeTakeFirst()
}

/** All deliveries of a message, in the order of its recipients. */
export async function listDeliveries(db: Db, messageId: string): Promise<DeliveryRow[]> {
  return db.selectFrom('delivery').selectAll().where('messageId', '=', messageId).orderBy('id').execute()
}

/** Gives whether it is there. */
export async function updateDelivery(
  db: WriteDb,
  id: string,
  changes: Partial<Omit<DeliveryRow, 'id' | 'messageId' | 'recipient' | 'createdAt'>>,
): Promise<boolean> {
  return (await changeRow(db, 'delivery', id, changes)) > 0
}

/**
 * What an inbox sends and has not come to its end, in the order of the messages; copies of what came to it are not among
 * them.
 * @param after of this message and later ones
 */
export async function listPendingOfInbox(
  db: Db,
  of: { readonly inboxId: string; readonly states: readonly string[]; readonly after: string },
  limit: number,
): Promise<DeliveryRow[]> {
  return (
    db
      .selectFrom('message')
      .innerJoin('delivery', 'delivery.messageId', 'message.id')
      .selectAll('delivery')
      .where('message.inboxId', '=', of.inboxId)
      // As it stands in the index, so that SQLite knows that it can use that.
      .where('message.status', '=', sql.lit('pending'))
      .where('message.id', '>=', of.after)
      .where('delivery.state', 'in', of.states)
      // What the operator holds is not the inbox's to release.
      .where('delivery.heldBy', 'is', null)
      .orderBy('message.id')
      .orderBy('delivery.id')
      .limit(limit)
      .execute()
  )
}

/** The copy that was forwarded to the same address before this one, among the `lookback` messages of the inbox before its own. */
export async function findCopyBefore(
  db: Db,
  inboxId: string,
  copy: Pick<DeliveryRow, 'messageId' | 'recipient'>,
  lookback: number,
): Promise<DeliveryRow | undefined> {
  const earlier = db
    .selectFrom('message')
    .select('id')
    .where('inboxId', '=', inboxId)
    .where('direction', '=', 'inbound')
    .where('id', '<', copy.messageId)
    .orderBy('id', 'desc')
    .limit(lookback)
  return db
    .selectFrom('delivery')
    .selectAll()
    .where('messageId', 'in', earlier)
    .where('purpose', '=', 'forward')
    .where('recipient', '=', copy.recipient)
    .orderBy('messageId', 'desc')
    .limit(1)
    .executeTakeFirst()
}

/** Whether a host has ever taken this delivery, whatever became of it then. */
export async function wasTaken(db: Db, deliveryId: string): Promise<boolean> {
  const row = await db
    .selectFrom('attempt')
    .select('id')
    .where('deliveryId', '=', deliveryId)
    .where('result', '=', 'delivered')
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/** The newest attempts of a delivery, at most `limit`, the oldest of them first. */
export async function listAttempts(db: Db, deliveryId: string, limit: number): Promise<AttemptRow[]> {
  const newest = db.selectFrom('attempt').selectAll().where('deliveryId', '=', deliveryId)
  return (await newest.orderBy('id', 'desc').limit(limit).execute()).reverse()
}

export async function insertAttempt(db: WriteDb, row: AttemptRow): Promise<void> {
  await insertRow(db, 'attempt', row)
}
