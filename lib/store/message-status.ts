import { sql } from 'kysely'
import type { WriteDb } from './dialect/dialect.ts'
import { prepared } from './dialect/prepared.ts'

/**
 * When the last delivery of a message has come to its end: sent if all were taken, failed if any failed for good or was
 * cancelled. The write holds the message, because two deliveries may end at the same time.
 * @returns what it is now; undefined while one has not come to its end
 */
export async function settleMessage(db: WriteDb, id: string): Promise<'sent' | 'failed' | undefined> {
  const row = await settled(db, { id })
  return row?.status as 'sent' | 'failed' | undefined
}
const settled = prepared((db, { id }: { id: string }) => {
  const deliveries = db.selectFrom('delivery').select('delivery.id').where('delivery.messageId', '=', id)
  // As it stands in the index, so that SQLite knows that it can use that.
  const pending = deliveries.where('delivery.state', 'in', [
    sql.lit('queued'),
    sql.lit('deferred'),
    sql.lit('held'),
  ])
  return db
    .updateTable('message')
    .set(eb => ({
      status: eb
        .case()
        .when(eb.exists(deliveries.where('delivery.state', 'in', [sql.lit('failed'), sql.lit('cancelled')])))
        .then('failed')
        .else('sent')
        .end(),
    }))
    .where('message.id', '=', id)
    .where(eb => eb.not(eb.exists(pending)))
    .returning('message.status')
}).row
