import type { ScheduledTask } from 'node-cron'
import { DatabaseDamaged } from './base/faults.ts'
import { idempotencyHours } from './base/problem.ts'
import { isoAfter } from './base/time.ts'
import { durationMs } from './config/duration.ts'
import { purgeDeletedInboxes } from './core/account/purge.ts'
import { deleteExpired, type RetentionRule } from './core/account/retention.ts'
import type { App } from './core/app/app.ts'
import { expireBeforeUpgrade } from './core/backup/upgrade.ts'
import { tellDueNotices } from './core/delivery/notices.ts'
import { sendTlsReports } from './core/delivery/tls-reports.ts'
import { checkDueDomains } from './core/domains/checks.ts'
import { expireKeys, rotateDueKeys } from './core/domains/keys.ts'
import { expireForwardConfirmations } from './core/forwarding/question.ts'
import { expireDeferrals } from './core/inbound/deferral.ts'
import { expireGreylist } from './core/inbound/greylist.ts'
import { setAsideStrays, tendStrays } from './core/mailbox/raws.ts'
import { releaseResumed } from './core/outbound/hold.ts'
import { expireSuppressions } from './core/outbound/suppressions.ts'
import { expirePolicyAudit } from './core/policy/audit.ts'
import { expireUsage } from './core/quota/usage.ts'
import { deleteDestinationsBefore } from './store/destinations.ts'
import { holdsNothing } from './store/dialect/held.ts'
import { deleteEventsBefore } from './store/events.ts'
import { deleteIdempotencyBefore } from './store/idempotency.ts'
import { deleteNodesBefore } from './store/nodes.ts'
import { deleteStsPoliciesBefore } from './store/sts-policies.ts'
import { sweepRows } from './store/sweeps.ts'
import { deleteTlsResultsBefore } from './store/tls-results.ts'

/** How long a node that ended is remembered. */
const nodeKeptMs = 7 * 86_400_000
/** For how long after a start no timed sweep begins; the shortest is done each minute. */
const upkeepAfterMs = 10_000
/** Days that TLS results are kept. */
const tlsResultDays = 30
/** How long the health of a destination is kept that was not tried again. */
const destinationKeptMs = 7 * 86_400_000

interface Sweep {
  readonly name: string
  /** When it runs, as cron writes it. */
  readonly schedule: string
  /** Whether it is about what this node has for itself: then each does its own, and else one node at a time for all. */
  readonly isOwn?: true
  /** Does at most `sweepRows` at once and gives how many it did. */
  readonly run: (app: App, isStopping: () => boolean) => Promise<number>
}

function retentionOf({ retention }: App['config']): RetentionRule[] {
  return retention.rule.map(({ keep_for: keepFor, ...meant }) => ({
    ...meant,
    ...(keepFor !== undefined && { keepMs: durationMs(keepFor) }),
  }))
}

const ago = (app: App, ms: number) => isoAfter(app.clock.now(), -ms)

/** What is swept, and when. Every sweep is bounded and is repeated until it finds nothing. */
export const sweeps: readonly Sweep[] = [
  {
    name: 'idempotency records older than 24 hours',
    schedule: '*/10 * * * *',
    run: app =>
      app.store.writeHolding(holdsNothing, db =>
        deleteIdempotencyBefore(db, ago(app, idempotencyHours * 3_600_000), sweepRows),
      ),
  },
  {
    name: 'events older than events.keep_for',
    schedule: '17 * * * *',
    run: app =>
      app.store.writeHolding(holdsNothing, db =>
        deleteEventsBefore(db, ago(app, durationMs(app.config.events.keep_for)), sweepRows),
      ),
  },
  {
    name: 'messages of deleted inboxes',
    schedule: '*/5 * * * *',
    run: purgeDeletedInboxes,
  },
  {
    name: 'messages older than retention keeps them',
    schedule: '13 * * * *',
    run: (app, isStopping) => deleteExpired(app, retentionOf(app.config), isStopping),
  },
  { name: 'notices of submitted mail', schedule: '* * * * *', run: tellDueNotices },
  { name: 'domains due for a check', schedule: '* * * * *', run: checkDueDomains },
  { name: 'domains whose DKIM keys are due to change', schedule: '33 * * * *', run: rotateDueKeys },
  { name: 'DKIM keys of before', schedule: '43 * * * *', run: expireKeys },
  { name: 'held deliveries of inboxes that were resumed', schedule: '*/5 * * * *', run: releaseResumed },
  { name: 'suppressions that are over', schedule: '*/10 * * * *', run: expireSuppressions },
  {
    name: 'forwarding confirmations that are over',
    schedule: '47 * * * *',
    run: expireForwardConfirmations,
  },
  { name: 'greylisting that is over', schedule: '*/10 * * * *', run: expireGreylist },
  { name: 'deferrals of mail that could not be judged', schedule: '37 * * * *', run: expireDeferrals },
  {
    name: 'standings of destinations that were not tried for a week',
    schedule: '7 * * * *',
    run: app =>
      app.store.writeHolding(holdsNothing, db =>
        deleteDestinationsBefore(db, ago(app, destinationKeptMs), sweepRows),
      ),
  },
  {
    name: 'MTA-STS policies that are over',
    schedule: '57 * * * *',
    run: app =>
      app.store.writeHolding(holdsNothing, db => deleteStsPoliciesBefore(db, ago(app, 0), sweepRows)),
  },
  { name: 'days of TLS that are to be reported', schedule: '23 * * * *', run: sendTlsReports },
  {
    name: 'results of TLS older than 30 days',
    schedule: '47 4 * * *',
    run: app =>
      app.store.writeHolding(holdsNothing, db =>
        deleteTlsResultsBefore(db, ago(app, tlsResultDays * 86_400_000).slice(0, 10), sweepRows),
      ),
  },
  { name: 'audit of sender rules older than 90 days', schedule: '27 * * * *', run: expirePolicyAudit },
  {
    name: 'databases of before upgrades older than a week',
    schedule: '57 3 * * *',
    isOwn: true,
    run: expireBeforeUpgrade,
  },
  {
    name: 'objects of the bucket without a row',
    schedule: '23 4 * * *',
    async run(app, isStopping) {
      await setAsideStrays(app, app.blobs.listDistant(), 'objects', isStopping)
      return 0
    },
  },
  { name: 'files that were set aside', schedule: '43 4 * * *', isOwn: true, run: tendStrays },
  { name: 'copies of objects', schedule: '* * * * *', isOwn: true, run: app => app.blobs.trimCache() },
  {
    name: 'nodes that ended a week ago',
    schedule: '7 3 * * *',
    run: app =>
      app.store.writeHolding(holdsNothing, db => deleteNodesBefore(db, ago(app, nodeKeptMs), sweepRows)),
  },
  { name: 'daily and monthly counts older than 400 days', schedule: '37 3 * * *', run: expireUsage },
]

/** Runs a sweep until it finds nothing more, or until `isStopping` says so; unless another node does it just now. */
export async function sweep(app: App, one: Sweep, isStopping = () => false): Promise<void> {
  try {
    const giveBack = one.isOwn ? async () => {} : await app.nodes.takeSweep(one.name)
    if (!giveBack) return
    try {
      for (
        let done = await one.run(app, isStopping);
        done > 0 && !isStopping();
        done = await one.run(app, isStopping)
      ) {
        app.log.info({ sweep: one.name, rows: done }, 'swept')
      }
    } finally {
      await giveBack()
    }
  } catch (error) {
    // Logged once, by who found it.
    if (error instanceof DatabaseDamaged) return
    app.log.error({ err: error, sweep: one.name }, 'sweep failed')
  }
}

/**
 * Starts the sweeps `upkeepAfterMs` from now; `stop` waits for those under way. What reads their schedule takes a tenth of a second to load
 * and to begin, and who has just started has its first connections and requests to answer.
 */
export function startUpkeep(app: App): { stop(): Promise<void> } {
  const underWay = new Set<Promise<void>>()
  let isStopping = false
  let tasks: Promise<readonly ScheduledTask[]> = Promise.resolve([])
  const waiting = setTimeout(() => {
    tasks = schedule(app, one => {
      const work = sweep(app, one, () => isStopping).finally(() => underWay.delete(work))
      underWay.add(work)
      return work
    })
  }, upkeepAfterMs).unref()
  return {
    async stop() {
      isStopping = true
      clearTimeout(waiting)
      for (const task of await tasks) await task.destroy()
      await Promise.all(underWay)
    },
  }
}

async function schedule(app: App, run: (one: Sweep) => Promise<void>): Promise<readonly ScheduledTask[]> {
  const { default: cron } = await import('node-cron')
  // What it says by itself are lines of its own form, of runs that were missed while this process stood still.
  const told = (message: string | Error) => app.log.debug({ err: message }, 'said by the schedule of sweeps')
  const logger = { debug: told, info: told, warn: told, error: told }
  return sweeps.map(one =>
    cron.schedule(one.schedule, () => run(one), { name: one.name, noOverlap: true, unref: true, logger }),
  )
}
