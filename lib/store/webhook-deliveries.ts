import type { Sealed, SecretPlace } from '../base/secrets.ts'
import type { Db, WriteDb } from './dialect/dialect.ts'
import { insertRow } from './dialect/insert.ts'
import { prepared } from './dialect/prepared.ts'
import type { CountedInbox } from './inboxes.ts'
import type { WebhookAttemptRow, WebhookDeliveryRow } from './tables.ts'

/** The webhook that is told of what happens in an inbox (or in none): the inbox's, or else the account's. */
export interface Endpoint {
  /** Whose it is; null: the account's. */
  readonly inboxId: string | null
  readonly url: string
}

export async function findEndpoint(db: Db, inboxId: string | null): Promise<Endpoint | undefined> {
  const row = await endpoints(db, { inboxId: inboxId ?? '' })
  if (!row) return undefined
  if (row.inboxUrl !== null) return { inboxId, url: row.inboxUrl }
  return row.accountUrl === null ? undefined : { inboxId: null, url: row.accountUrl }
}

/** The same of an inbox that was just counted in. */
export function endpointOf({ id, webhookUrl, accountWebhookUrl }: CountedInbox): Endpoint | undefined {
  if (webhookUrl !== null) return { inboxId: id, url: webhookUrl }
  return accountWebhookUrl === null ? undefined : { inboxId: null, url: accountWebhookUrl }
}
const endpoints = prepared((db, given: { inboxId: string }) =>
  db
    .selectFrom('account')
    .leftJoin('inbox', join => join.on('inbox.id', '=', given.inboxId))
    .select(['inbox.webhookUrl as inboxUrl', 'account.webhookUrl as accountUrl']),
).row

/** A webhook as it is called. */
export interface Webhook {
  readonly url: string
  readonly secret: Sealed
  /** Where the secret stands, which it opens for. */
  readonly place: SecretPlace
}

/** The inbox's own webhook as it is now, or the account's where `inboxId` is null. */
export async function findWebhook(db: Db, inboxId: string | null): Promise<Webhook | undefined> {
  const row = inboxId === null ? await accountWebhook(db, {}) : await inboxWebhook(db, { inboxId })
  if (!row || row.webhookUrl === null || row.webhookSecret === null) return undefined
  const place = { table: inboxId === null ? 'account' : 'inbox', column: 'webhookSecret', id: row.id }
  return { url: row.webhookUrl, secret: row.webhookSecret, place }
}
const accountWebhook = prepared(db =>
  db.selectFrom('account').select(['id', 'webhookUrl', 'webhookSecret']),
).row
const inboxWebhook = prepared((db, given: { inboxId: string }) =>
  db
    .selectFrom('inbox')
    .select(['id', 'webhookUrl', 'webhookSecret'])
    .where('id', '=', given.inboxId)
    .where('deletedAt', 'is', null),
).row

export async function insertWebhookDelivery(db: WriteDb, row: WebhookDeliveryRow): Promise<void> {
  await insertRow(db, 'webhookDelivery', row)
}

export async function insertWebhookAttempt(db: WriteDb, row: WebhookAttemptRow): Promise<void> {
  await insertRow(db, 'webhookAttempt', row)
}

export function findWebhookDelivery(db: Db, id: string): Promise<WebhookDeliveryRow | undefined> {
  return deliveryById(db, { id })
}
const deliveryById = prepared((db, given: { id: string }) =>
  db.selectFrom('webhookDelivery').selectAll().where('id', '=', given.id),
).row

/** What changes with an attempt. */
export type WebhookProgress = Omit<WebhookDeliveryRow, 'id' | 'eventId' | 'inboxId' | 'createdAt'>

export async function updateWebhookDelivery(db: WriteDb, id: string, to: WebhookProgress): Promise<void> {
  await updateById(db, { ...to, id })
}
const updateById = prepared(
  (
    db,
    { id, state, attempts, url, status, error, nextAttemptAt, updatedAt }: WebhookProgress & { id: string },
  ) =>
    db
      .updateTable('webhookDelivery')
      .set({ state, attempts, url, status, error, nextAttemptAt, updatedAt })
      .where('id', '=', id),
).change

/** The deliveries of an event, oldest first. */
export async function listWebhookDeliveries(db: Db, eventId: string): Promise<WebhookDeliveryRow[]> {
  return db.selectFrom('webhookDelivery').selectAll().where('eventId', '=', eventId).orderBy('id').execute()
}

/** The attempts of these deliveries, oldest first. */
export async function listWebhookAttempts(
  db: Db,
  deliveryIds: readonly string[],
): Promise<WebhookAttemptRow[]> {
  if (deliveryIds.length === 0) return []
  return db
    .selectFrom('webhookAttempt')
    .selectAll()
    .where('webhookDeliveryId', 'in', deliveryIds)
    .orderBy('webhookDeliveryId')
    .orderBy('id')
    .execute()
}

/**
 * The events, in their order after `after`, whose last delivery failed (and did so not before `since`). It looks through
 * the log, which takes its time: for the operator.
 */
export async function listFailedEventIds(
  db: Db,
  { after, since, limit }: { after: string; since: string; limit: number },
): Promise<string[]> {
  const rows = await db
    .selectFrom('webhookDelivery as last')
    .select('last.eventId')
    .where('last.eventId', '>', after)
    .where('last.state', '=', 'failed')
    .where('last.updatedAt', '>=', since)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('webhookDelivery as later')
            .select('later.id')
            .whereRef('later.eventId', '=', 'last.eventId')
            .whereRef('later.id', '>', 'last.id'),
        ),
      ),
    )
    .orderBy('last.eventId')
    .limit(limit)
    .execute()
  return rows.map(row => row.eventId)
}

/** With their attempts and what is queued of them. */
export async function deleteWebhookDeliveries(db: WriteDb, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  await db.deleteFrom('queueEntry').where('subjectId', 'in', ids).execute()
  await db.deleteFrom('webhookAttempt').where('webhookDeliveryId', 'in', ids).execute()
  await db.deleteFrom('webhookDelivery').where('id', 'in', ids).execute()
}

/** With their attempts; of events that go. */
export async function deleteWebhookDeliveriesOf(db: WriteDb, eventIds: readonly string[]): Promise<void> {
  const deliveries = db.selectFrom('webhookDelivery').select('id').where('eventId', 'in', eventIds)
  await db.deleteFrom('queueEntry').where('subjectId', 'in', deliveries).execute()
  await db.deleteFrom('webhookAttempt').where('webhookDeliveryId', 'in', deliveries).execute()
  await db.deleteFrom('webhookDelivery').where('eventId', 'in', eventIds).execute()
}

/** How many calls of a webhook are to be made yet. @param inboxId null: of the account's */
export async function countCallsToMake(db: Db, inboxId: string | null): Promise<number> {
  const { count } = await db
    .selectFrom('queueEntry')
    .innerJoin('webhookDelivery', 'webhookDelivery.id', 'queueEntry.subjectId')
    .select(one => one.fn.countAll<number>().as('count'))
    .where('queueEntry.kind', '=', 'webhook')
    .where('webhookDelivery.inboxId', inboxId === null ? 'is' : '=', inboxId)
    .executeTakeFirstOrThrow()
  return Number(count)
}
