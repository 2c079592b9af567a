import { stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { packageVersion } from '../../base/package-root.ts'
import { Problem } from '../../base/problem.ts'
import { attemptsMade } from '../../queue/leased.ts'
import { findAccount, noteHealth } from '../../store/account.ts'
import { countDomainsByStatus } from '../../store/domains.ts'
import { findLastEventAt } from '../../store/events.ts'
import { countQueueEntries, listQueuedDeliveries } from '../../store/queue-entries.ts'
import type { App } from './app.ts'
import { readRunning } from './running.ts'

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

export interface Status {
  readonly version: string
  /** `up` or `down`, with since when as far as that is known. */
  readonly daemon: {
    readonly state: 'up' | 'down'
    readonly since: string | null
    readonly version: string | null
  }
  readonly doors: { readonly smtp: readonly string[]; readonly http: readonly string[] }
  readonly hostname: string
  readonly accountDomain: string
  readonly dataDir: string
  readonly deliveryMode: string
  readonly pods: number
  readonly inboxes: number
  readonly queue: { readonly all: number; readonly leased: number; readonly held: number }
  /** Bytes: of the database with its log, and free on its disk. */
  readonly disk: { readonly database: number; readonly free: number }
  /** Of the domains that were added, how many are in which state. */
  readonly domains: Readonly<Record<string, number>>
  readonly lastReceivedAt: string | null
  readonly lastSentAt: string | null
}

/** What the operator sees first. */
export async function readStatus(app: App): Promise<Status> {
  const { config, store } = app
  const account = await findAccount(store.read)
  const { isUp, last } = await readRunning(config.data_dir)
  const since = isUp ? last?.startedAt : last?.stoppedAt
  return {
    version: packageVersion(),
    daemon: {
      state: isUp ? 'up' : 'down',
      since: since ?? null,
      version: isUp ? (last?.version ?? null) : null,
    },
    doors: isUp && last ? { smtp: last.smtp, http: last.http } : { smtp: [], http: [] },
    hostname: config.hostname,
    accountDomain: config.account_domain,
    dataDir: config.data_dir,
    deliveryMode: config.delivery.mode,
    pods: account?.podCount ?? 0,
    inboxes: account?.inboxCount ?? 0,
    queue: await countQueueEntries(store.read),
    disk: await diskOf(config.data_dir),
    domains: await countDomainsByStatus(store.read),
    lastReceivedAt: await findLastEventAt(store.read, 'message.received'),
    lastSentAt: await findLastEventAt(store.read, 'message.sent'),
  }
}

async function diskOf(dataDir: string): Promise<Status['disk']> {
  const database = join(dataDir, 'mailboxd.sqlite')
  const sizes = await Promise.all(
    [database, `${database}-wal`].map(path =>
      stat(path).then(
        found => found.size,
        () => 0,
      ),
    ),
  )
  const { bavail, bsize } = await statfs(dataDir)
  return { database: sizes.reduce((sum, size) => sum + size, 0), free: bavail * bsize }
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
