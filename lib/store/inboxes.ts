import { type ExpressionBuilder, type RawBuilder, sql } from 'kysely'
import type { Scope } from '../base/ids.ts'
import type { Listed, Page } from '../model/page.ts'
import { addToAccount } from './account.ts'
import { type Db, together, type WriteDb } from './dialect/dialect.ts'
import { insertRow } from './dialect/insert.ts'
import { prepared, type Values } from './dialect/prepared.ts'
import { addToDomainUse } from './domains.ts'
import type { InboxRow, Tables } from './tables.ts'

export async function insertInbox(db: WriteDb, row: InboxRow): Promise<void> {
  await insertRow(db, 'inbox', row)
  await addInboxes(db, row, 1)
}

/** System inboxes are in no total; but their domain is in use. */
async function addInboxes(db: WriteDb, { podId, address, isSystem }: InboxRow, count: 1 | -1): Promise<void> {
  await addToDomainUse(db, { domain: address.slice(address.lastIndexOf('@') + 1), podId }, count)
  if (isSystem === 1) return
  await addToAccount(db, { inboxes: count })
  await db
    .updateTable('pod')
    .set(eb => ({ inboxCount: eb('inboxCount', '+', count) }))
    .where('id', '=', podId)
    .execute()
}

/** A deleted inbox is not found. */
export function findInbox(db: Db, id: string): Promise<InboxRow | undefined> {
  return inboxById(db, { id })
}
const inboxById = prepared((db, given: { id: string }) =>
  db.selectFrom('inbox').selectAll().where('id', '=', given.id).where('deletedAt', 'is', null),
).row

/** @param address lower-case. A deleted inbox is not found. */
export function findInboxByAddress(db: Db, address: string): Promise<InboxRow | undefined> {
  return inboxByAddress(db, { address })
}
const inboxByAddress = prepared((db, given: { address: string }) =>
  db.selectFrom('inbox').selectAll().where('address', '=', given.address).where('deletedAt', 'is', null),
).row

/** The pod of an inbox, also of one that was deleted. */
export async function findPodOfInbox(db: Db, id: string): Promise<string | undefined> {
  const row = await db.selectFrom('inbox').select('podId').where('id', '=', id).executeTakeFirst()
  return row?.podId
}

/** The address of an inbox, also of one that was deleted. */
export async function findInboxAddress(db: Db, id: string): Promise<string | undefined> {
  return (await inboxAddress(db, { id }))?.address
}
const inboxAddress = prepared((db, given: { id: string }) =>
  db.selectFrom('inbox').select('address').where('id', '=', given.id),
).row

/** A deleted inbox has no clientId any more. */
export async function findInboxByClientId(
  db: Db,
  podId: string,
  clientId: string,
): Promise<InboxRow | undefined> {
  return db
    .selectFrom('inbox')
    .selectAll()
    .where('podId', '=', podId)
    .where('clientId', '=', clientId)
    .executeTakeFirst()
}

/** An inbox that may send again and may have deliveries that are held still. */
export async function findResumedInbox(db: Db): Promise<string | undefined> {
  const row = await db
    .selectFrom('inbox')
    .select('id')
    // As it stands in the index, so that SQLite knows that it can use that.
    .where('hasHeld', '=', sql.lit(1))
    .where('suspendedAt', 'is', null)
    .where('deletedAt', 'is', null)
    .limit(1)
    .executeTakeFirst()
  return row?.id
}

/** Which of these addresses (lower-case) are inboxes here. */
export async function filterInboxAddresses(db: Db, addresses: readonly string[]): Promise<string[]> {
  return (await inboxAddresses(db, {}, addresses)).map(row => row.address)
}
const inboxAddresses = prepared((db, _given: Values, addresses = []) =>
  db.selectFrom('inbox').select('address').where('address', 'in', addresses).where('deletedAt', 'is', null),
).rows

/** Lists how much these inboxes store. */
export function listStored(
  db: Db,
  ids: readonly string[],
): Promise<Pick<InboxRow, 'id' | 'storedKiB' | 'isSystem'>[]> {
  return storedOf(db, {}, [...new Set(ids)])
}
const storedOf = prepared((db, _given: Values, ids = []) =>
  db.selectFrom('inbox').select(['id', 'storedKiB', 'isSystem']).where('id', 'in', ids),
).rows

/** Counts the inboxes, and the pods besides the default one, that store at least this many KiB. A limit of 0 is none. */
export async function countFull(
  db: Db,
  limits: { readonly inboxKiB: number; readonly podKiB: number },
): Promise<{ inboxes: number; pods: number }> {
  const there = db.selectFrom('inbox').where('inbox.deletedAt', 'is', null).where('inbox.isSystem', '=', 0)
  const inboxes = there
    .where('storedKiB', '>=', limits.inboxKiB)
    .select(eb => eb.fn.countAll<number>().as('count'))
  const pods = there
    .innerJoin('pod', 'pod.id', 'inbox.podId')
    .where('pod.isDefault', '=', 0)
    .groupBy('pod.id')
    .having(eb => eb.fn.sum('storedKiB'), '>=', limits.podKiB)
    .select('pod.id')
  return {
    inboxes: limits.inboxKiB === 0 ? 0 : Number((await inboxes.executeTakeFirstOrThrow()).count),
    pods: limits.podKiB === 0 ? 0 : (await pods.execute()).length,
  }
}

/** The addresses of these inboxes by their ids, also of those that are deleted. */
export async function listInboxAddresses(db: Db, ids: readonly string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map()
  const rows = await db.selectFrom('inbox').select(['id', 'address']).where('id', 'in', ids).execute()
  return new Map(rows.map(row => [row.id, row.address]))
}

/** Whether an inbox has or ever had this address (lower-case). */
export async function isAddressUsed(db: Db, address: string): Promise<boolean> {
  const row = await db.selectFrom('inbox').select('id').where('address', '=', address).executeTakeFirst()
  return row !== undefined
}

/** Newest first; of the account, or of one pod. System inboxes only where they are asked for. */
export async function listInboxes(
  db: Db,
  within: { readonly podId: string | null; readonly withSystem?: boolean },
  page: Page,
): Promise<Listed<InboxRow>> {
  const { podId, withSystem = false } = within
  let query = db.selectFrom('inbox').selectAll().where('deletedAt', 'is', null)
  if (podId !== null) query = query.where('podId', '=', podId)
  if (!withSystem) query = query.where('isSystem', '=', 0)
  const rows = await query.orderBy('id', 'desc').limit(page.limit).offset(page.offset).execute()
  const count =
    podId === null
      ? await db.selectFrom('account').select('inboxCount').executeTakeFirst()
      : await db.selectFrom('pod').select('inboxCount').where('id', '=', podId).executeTakeFirst()
  const system = withSystem ? await countSystemInboxes(db, podId) : 0
  return { rows, total: (count?.inboxCount ?? 0) + system }
}

async function countSystemInboxes(db: Db, podId: string | null): Promise<number> {
  let query = db.selectFrom('inbox').where('isSystem', '=', 1).where('deletedAt', 'is', null)
  if (podId !== null) query = query.where('podId', '=', podId)
  const { total } = await query.select(eb => eb.fn.countAll<number>().as('total')).executeTakeFirstOrThrow()
  return Number(total)
}

/** What rules for messages of an inbox or a pod are asked by. */
export interface InboxOfPod extends Pick<InboxRow, 'id' | 'address' | 'podId'> {
  readonly podClientId: string | null
}

/** The inboxes after this id, system inboxes with them. */
export async function listInboxesOfPods(db: Db, after: string, limit: number): Promise<InboxOfPod[]> {
  return db
    .selectFrom('inbox')
    .innerJoin('pod', 'pod.id', 'inbox.podId')
    .select(['inbox.id', 'inbox.address', 'inbox.podId', 'pod.clientId as podClientId'])
    .where('inbox.id', '>', after)
    .where('inbox.deletedAt', 'is', null)
    .orderBy('inbox.id')
    .limit(limit)
    .execute()
}

/** How an inbox forwards: all of it is null, and no failures, where it does not. */
export type Forwarding = Pick<InboxRow, 'forwardTo' | 'forwardWhen' | 'forwardStatus' | 'forwardFailures'>

export async function updateInbox(
  db: WriteDb,
  id: string,
  changes: Partial<
    Pick<
      InboxRow,
      'displayName' | 'webhookUrl' | 'webhookSecret' | 'suspendedAt' | 'suspendedReason' | 'hasHeld'
    > &
      Forwarding
  >,
): Promise<void> {
  await db.updateTable('inbox').set(changes).where('id', '=', id).execute()
}

/** How many inboxes forward to an address, or wait for its consent. */
export async function countForwardingTo(db: Db, address: string): Promise<number> {
  const { count } = await db
    .selectFrom('inbox')
    .select(one => one.fn.countAll<number>().as('count'))
    .where('forwardTo', '=', address)
    .where('deletedAt', 'is', null)
    .executeTakeFirstOrThrow()
  return Number(count)
}

/** Marks the inbox deleted; its address stays taken for ever, its clientId is free. Nothing more is told to its webhook. */
export async function deleteInbox(db: WriteDb, inbox: InboxRow, deletedAt: string): Promise<void> {
  const gone = { deletedAt, webhookUrl: null, webhookSecret: null, clientId: null, creationHash: null }
  await db.updateTable('inbox').set(gone).where('id', '=', inbox.id).execute()
  await addInboxes(db, inbox, -1)
}

/** The deleted inboxes of a pod that goes, too: their rows stay for ever, and some pod must hold them. */
export async function moveDeletedInboxes(db: WriteDb, fromPodId: string, toPodId: string): Promise<void> {
  await db
    .updateTable('inbox')
    .set({ podId: toPodId })
    .where('podId', '=', fromPodId)
    .where('deletedAt', 'is not', null)
    .execute()
}

/** What the inboxes that are not deleted count together: of the account, of a pod, or of one inbox. */
export async function countInScope(db: Db, scope: Scope): Promise<Required<InboxCounts>> {
  let query = db
    .selectFrom('inbox')
    .select(eb => [
      eb.fn.coalesce(eb.fn.sum<number>('inboundCount'), eb.lit(0)).as('inbound'),
      eb.fn.coalesce(eb.fn.sum<number>('outboundCount'), eb.lit(0)).as('outbound'),
      eb.fn.coalesce(eb.fn.sum<number>('threadCount'), eb.lit(0)).as('threads'),
      eb.fn.coalesce(eb.fn.sum<number>('unreadThreadCount'), eb.lit(0)).as('unreadThreads'),
      eb.fn.coalesce(eb.fn.sum<number>('storedKiB'), eb.lit(0)).as('storedKiB'),
    ])
    .where('deletedAt', 'is', null)
  if (scope.inboxId !== null) query = query.where('id', '=', scope.inboxId)
  else if (scope.podId !== null) query = query.where('podId', '=', scope.podId)
  return query.executeTakeFirstOrThrow()
}

/** What a message or a thread adds to the counters of its inbox. */
export interface InboxCounts {
  readonly inbound?: number
  readonly outbound?: number
  readonly threads?: number
  readonly unreadThreads?: number
  readonly storedKiB?: number
}

/** The size of a raw as inboxes count it: in KiB, for an integer has 32 bits. */
export function kibOf(sizeBytes: number): number {
  return Math.ceil(sizeBytes / 1024)
}

const noCounts = { inbound: 0, outbound: 0, threads: 0, unreadThreads: 0, storedKiB: 0 }

export async function addToInbox(db: WriteDb, id: string, added: InboxCounts): Promise<void> {
  await countOnly(db, { ...noCounts, ...added, id })
}

/**
 * The same for messages that come in at `now`: they are dated a millisecond apart, at `now` or, where the inbox has one as late (clocks
 * of nodes differ), after that. So who has read up to a time has all that is dated before it (`messageDate`). Gives the inbox as it
 * is then, which is undefined when it was deleted.
 */
export function countInInbox(
  db: WriteDb,
  id: string,
  added: InboxCounts,
  now: Date,
): Promise<InboxRow | undefined> {
  return countAndFind(db, { ...noCounts, ...added, id, nowMs: now.getTime() })
}

/** `createdAt` of the message that was counted last, or of one so many before it in the same write. */
export function messageDate({ lastMessageMs }: Pick<InboxRow, 'lastMessageMs'>, before = 0): string {
  return new Date(Number(lastMessageMs) - before).toISOString()
}

/** An inbox, and the webhook of its account. */
export type CountedInbox = InboxRow & { readonly accountWebhookUrl: string | null }

/**
 * The same for several inboxes, each of which is named once: those that get the same are counted together. Gives those that are
 * there, as they are then.
 */
export async function countInInboxes(
  db: WriteDb,
  added: readonly (Omit<Required<InboxCounts>, 'outbound'> & { readonly id: string })[],
  now: Date,
): Promise<CountedInbox[]> {
  const alike = Map.groupBy(added, ({ inbound, threads, unreadThreads, storedKiB }) =>
    [inbound, threads, unreadThreads, storedKiB].join(),
  )
  const counted: CountedInbox[] = []
  const count = async (of: typeof added) => {
    const { id: _id, ...counts } = of[0]!
    const ids = of.map(({ id }) => id)
    counted.push(...(await countAndFindAll(db, { ...noCounts, ...counts, nowMs: now.getTime() }, ids)))
  }
  await together([...alike.values()].map(count))
  return counted
}
const countAndFindAll = prepared((db, given: Required<InboxCounts> & { nowMs: number } & Values, ids = []) =>
  db
    .updateTable('inbox')
    .set(eb => increments(eb, given))
    .set(lastMessageMs(given.nowMs, sql`cast(${given.inbound} as bigint)`))
    .where('id', 'in', ids)
    .where('deletedAt', 'is', null)
    .returningAll()
    .returning(eb => eb.selectFrom('account').select('webhookUrl').as('accountWebhookUrl')),
).rows

const counting = (db: WriteDb, given: Required<InboxCounts> & { id: string }) =>
  db
    .updateTable('inbox')
    .set(eb => increments(eb, given))
    .where('id', '=', given.id)
const countOnly = prepared(counting).change
const countAndFind = prepared((db, given: Required<InboxCounts> & { id: string; nowMs: number }) =>
  counting(db, given)
    .set(
      lastMessageMs(given.nowMs, sql`cast(${given.inbound} as bigint) + cast(${given.outbound} as bigint)`),
    )
    .where('deletedAt', 'is', null)
    .returningAll(),
).row

/** Decided by the row, which the change locks: what other nodes committed before is in it. */
function lastMessageMs(nowMs: number, count: RawBuilder<unknown>) {
  const now = sql`cast(${nowMs} as bigint)`
  const next = sql`coalesce(cast("lastMessageMs" as bigint), 0) + 1`
  const first = sql`case when ${next} > ${now} then ${next} else ${now} end`
  return { lastMessageMs: sql<string>`cast(${first} + ${count} - 1 as text)` }
}

function increments(eb: ExpressionBuilder<Tables, 'inbox'>, given: Required<InboxCounts>) {
  return {
    inboundCount: eb('inboundCount', '+', given.inbound),
    outboundCount: eb('outboundCount', '+', given.outbound),
    threadCount: eb('threadCount', '+', given.threads),
    unreadThreadCount: eb('unreadThreadCount', '+', given.unreadThreads),
    storedKiB: eb('storedKiB', '+', given.storedKiB),
  }
}
