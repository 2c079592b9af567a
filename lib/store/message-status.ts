import { sql } from 'kysely'
import { dialectOf, type WriteDb } from './dialect/dialect.ts'
import { keptChange, keptReturning } from './dialect/kept.ts'

/**
 * When the last delivery of a message has come to its end: sent if all were taken, failed if any failed for good or was
 * cancelled.
 * @returns what it is now; undefined while one has not come to its end
 */
export async function settleMessage(db: WriteDb, id: string): Promise<'sent' | 'failed' | undefined> {
  const row = await settled(db, { id })
  // Who ends another one meanwhile, and sees this one as it was before, is to learn that: its row changes in any case.
  if (!row && dialectOf(db) === 'postgres') await touch(db, { id })
  return row?.status as 'sent' | 'failed' | undefined
}
const touch = keptChange((db, { id }: { id: string }) =>
  db
    .updateTable('message')
    .set(eb => ({ status: eb.ref('status') }))
    .where('id', '=', id),
)
const settled = keptReturning((db, { id }: { id: string }) => {
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
})
