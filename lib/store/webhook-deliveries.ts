import { type Db, keptQuery } from './dialect.ts'
import { insertRow } from './insert.ts'
import type { WebhookAttemptRow, WebhookDeliveryRow } from './tables.ts'

/** The webhook that is told of what happens in an inbox (or in none): the inbox's, or else the account's. */
export interface Endpoint {
  /** Whose it is; null: the account's. */
  readonly inboxId: string | null
  readonly url: string
}

export async function findEndpoint(db: Db, inboxId: string | null): Promise<Endpoint | undefined> {
  const row = await endpoints(db, inboxId ?? '')
  if (!row) return undefined
  if (row.inboxUrl !== null) return { inboxId, url: row.inboxUrl }
  return row.accountUrl === null ? undefined : { inboxId: null, url: row.accountUrl }
}
const endpoints = keptQuery<{ inboxUrl: string | null; accountUrl: string | null }>(db =>
  db
    .selectFrom('account')
    .leftJoin('inbox', join => join.on('inbox.id', '=', ''))
    .select(['inbox.webhookUrl as inboxUrl', 'account.webhookUrl as accountUrl']),
)

export async function insertWebhookDelivery(db: Db, row: WebhookDeliveryRow): Promise<void> {
  await insertRow(db, 'webhookDelivery', row)
}

export async function insertWebhookAttempt(db: Db, row: WebhookAttemptRow): Promise<void> {
  await insertRow(db, 'webhookAttempt', row)
}

export function findWebhookDelivery(db: Db, id: string): Promise<WebhookDeliveryRow | undefined> {
  return deliveryById(db, id)
}
const deliveryById = keptQuery<WebhookDeliveryRow>(db =>
  db.selectFrom('webhookDelivery').selectAll().where('id', '=', ''),
)

/** With their attempts; of events that go. */
export async function deleteWebhookDeliveriesOf(db: Db, eventIds: readonly string[]): Promise<void> {
  const deliveries = db.selectFrom('webhookDelivery').select('id').where('eventId', 'in', eventIds)
  await db.deleteFrom('queueEntry').where('subjectId', 'in', deliveries).execute()
  await db.deleteFrom('webhookAttempt').where('webhookDeliveryId', 'in', deliveries).execute()
  await db.deleteFrom('webhookDelivery').where('eventId', 'in', eventIds).execute()
}
