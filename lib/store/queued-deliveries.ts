import type { SelectQueryBuilder } from 'kysely'
import type { Db, WriteDb } from './dialect/dialect.ts'
import { prepared } from './dialect/prepared.ts'
import type { QueueEntryRow, Tables } from './tables.ts'

/** A queue entry with the delivery that it is for. */
export type QueuedDelivery = QueueEntryRow & {
  messageId: string
  recipient: string
  replyCode: number | null
  replyText: string | null
  heldBy: string | null
}

/** Which deliveries an operator means: all for which everything that is given is so. */
export interface QueueFilter {
  /** Of the recipient; in A-labels and lower case. */
  readonly domain?: string | undefined
  readonly inboxId?: string | undefined
  readonly podId?: string | undefined
  /** Put before this instant. */
  readonly before?: string | undefined
  readonly state?: QueueState | undefined
  /** Of the deliveries or of their messages. */
  readonly ids?: readonly string[] | undefined
}

export const queueStates = ['waiting', 'under way', 'held'] as const
export type QueueState = (typeof queueStates)[number]

type Queued = SelectQueryBuilder<Tables, 'queueEntry' | 'delivery', object>

function queued(db: Db, filter: QueueFilter): Queued {
  const { domain, inboxId, podId, before, state, ids } = filter
  let rows = db
    .selectFrom('queueEntry')
    .innerJoin('delivery', 'delivery.id', 'queueEntry.subjectId')
    .where('queueEntry.kind', '=', 'delivery') as Queued
  if (inboxId !== undefined) rows = rows.where('queueEntry.inboxId', '=', inboxId)
  if (podId !== undefined) rows = rows.where('queueEntry.podId', '=', podId)
  if (before !== undefined) rows = rows.where('queueEntry.createdAt', '<', before)
  if (domain !== undefined) rows = rows.where('delivery.recipient', 'like', `%@${domain.replaceAll('_', '')}`)
  if (state === 'held') rows = rows.where('queueEntry.lane', '=', 'held')
  if (state === 'under way') rows = rows.where('queueEntry.leasedBy', 'is not', null)
  if (state === 'waiting')
    rows = rows.where('queueEntry.leasedBy', 'is', null).where('queueEntry.lane', '<>', 'held')
  if (ids !== undefined)
    rows = rows.where(eb => eb.or([eb('delivery.id', 'in', ids), eb('delivery.messageId', 'in', ids)]))
  return rows
}

/** For the operator: what is queued, the next due first, with what the other side said last. */
export async function listQueuedDeliveries(
  db: Db,
  filter: QueueFilter,
  limit: number,
  offset = 0,
): Promise<QueuedDelivery[]> {
  return shown(queued(db, filter))
    .orderBy('queueEntry.dueAt')
    .orderBy('queueEntry.id')
    .limit(limit)
    .offset(offset)
    .execute()
}

/** The same in the order in which they were put, after the entry with this id: so that a change of them ends. */
export async function listQueuedAfter(
  db: Db,
  filter: QueueFilter,
  after: string,
  limit: number,
): Promise<QueuedDelivery[]> {
  const rows = queued(db, filter).where('queueEntry.id', '>', after)
  return shown(rows).orderBy('queueEntry.id').limit(limit).execute()
}

function shown(rows: Queued) {
  return rows
    .selectAll('queueEntry')
    .select(['delivery.messageId', 'delivery.recipient', 'delivery.replyCode', 'delivery.replyText'])
    .select('delivery.heldBy')
}

export async function countQueuedDeliveries(db: Db, filter: QueueFilter): Promise<number> {
  const { count } = await queued(db, filter)
    .select(eb => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return Number(count)
}

/** An entry that nobody has leased and that is not held is due now. */
export async function hurryEntry(db: WriteDb, id: string, dueAt: string): Promise<void> {
  await hurry(db, { id, dueAt })
}
const hurry = prepared((db, { id, dueAt }: { id: string; dueAt: string }) =>
  db
    .updateTable('queueEntry')
    .set({ dueAt })
    .where('id', '=', id)
    .where('leasedBy', 'is', null)
    .where('lane', '<>', 'held'),
).change
