import type { App } from '../core/app/app.ts'
import { readLoad } from '../core/load.ts'
import type { Metrics } from './registry.ts'

/** What is known elsewhere of how things stand just now. */
export interface Standing {
  /** `size`: how many sessions are open. */
  readonly smtp: { readonly size: number }
  /** How many connections are open, and what large answers hold, in bytes. */
  readonly http: { count(): number; heldBytes(): number }
  /** When the certificates in force end, in the order of the configuration. */
  certificatesEnd(): readonly Date[]
}

/** Sets the gauges: what stands in memory, and a few bounded look-ups. */
export function createLook(app: App, metrics: Metrics, standing: Standing): () => Promise<void> {
  return async () => {
    metrics.set('smtp_sessions', standing.smtp.size)
    metrics.set('http_connections', standing.http.count())
    metrics.set('http_memory_bytes', standing.http.heldBytes())
    metrics.set('event_streams', app.stream.count())
    metrics.set('waits', app.waiters.count())
    metrics.set('reading_under_way', app.mailReader.count())
    for (const [index, end] of standing.certificatesEnd().entries()) {
      metrics.set('certificate_expiry_seconds', end.getTime() / 1000, String(index + 1))
    }
    const { queue, index, disk } = await readLoad(app)
    for (const { kind, state, count } of queue.waiting) metrics.set('queue_entries', count, kind, state)
    for (const { kind, lateMs } of queue.late) metrics.set('queue_lateness_seconds', lateMs / 1000, kind)
    metrics.set('queue_oldest_seconds', queue.oldestMs / 1000)
    metrics.set('index_waiting', index.waiting)
    metrics.set('index_failed', index.failed)
    metrics.set('index_lag_seconds', index.lagMs / 1000)
    metrics.set('store_file_bytes', disk.database, 'database')
    metrics.set('store_file_bytes', disk.log, 'log')
    metrics.set('store_log_bytes', app.storage.logBytes)
    metrics.set('disk_free_bytes', disk.free)
    metrics.set('disk_min_free_bytes', app.config.min_free)
  }
}
