import { Problem } from '../../base/problem.ts'
import { attemptsMade } from '../../queue/leased.ts'
import { noteHealth } from '../../store/account.ts'
import { listQueuedDeliveries } from '../../store/queue-entries.ts'
import type { App } from './app.ts'

/**
 * Writes a value that nobody reads and waits for its fsync, which fails when the disk is full or the database broken. Those
 * who ask at the same time share one fsync, so asking often costs little.
 * @returns what is not as it should be, in sentences for the operator
 * @throws Problem `unavailable`
 */
export async function requireHealth(app: App): Promise<readonly string[]> {
  try {
    await app.store.write(db => noteHealth(db, app.clock.now().toISOString()))
  } catch (error) {
    app.log.error({ err: error }, 'the database can not be written')
    throw new Problem('unavailable')
  }
  if (app.storage.fault !== undefined) throw new Problem('unavailable', app.storage.fault)
  return app.storage.warnings
}

/** One line of the queue as the operator sees it. */
export interface QueueLine {
  readonly deliveryId: string
  readonly messageId: string
  readonly recipient: string
  readonly state: 'waiting' | 'under way' | 'held'
  /** Those that came to an end, and apart those that a crash cut off. */
  readonly attempts: number
  readonly cutOffs: number
  readonly nextAttemptAt: string
  readonly givenUpAt: string
  readonly lastReply: string | null
}

/** The deliveries that are queued, the next due first. */
export async function listQueue(app: App, limit: number): Promise<QueueLine[]> {
  const rows = await listQueuedDeliveries(app.store.read, limit)
  return rows.map(row => ({
    deliveryId: row.subjectId,
    messageId: row.messageId,
    recipient: row.recipient,
    state: row.state === 'held' ? 'held' : row.leasedBy === null ? 'waiting' : 'under way',
    attempts: attemptsMade(row),
    cutOffs: row.cutOffs,
    nextAttemptAt: row.dueAt,
    givenUpAt: row.expiresAt,
    lastReply: row.replyText,
  }))
}
