import cron from 'node-cron'
import { isoAfter } from './base/clock.ts'
import { limits } from './base/limits.ts'
import type { App } from './core/app.ts'
import { purgeDeletedInboxes } from './core/purge.ts'
import { deleteEventsBefore } from './store/events.ts'
import { deleteIdempotencyBefore } from './store/idempotency.ts'

interface Sweep {
  readonly name: string
  /** When it runs, as cron writes it. */
  readonly schedule: string
  /** Does at most `limits.sweepRows` at once and gives how many it did. */
  readonly run: (app: App) => Promise<number>
}

const ago = (app: App, ms: number) => isoAfter(app.clock.now(), -ms)

/** What is swept, and when. Every sweep is bounded and is repeated until it finds nothing. */
export const sweeps: readonly Sweep[] = [
  {
    name: 'idempotency records older than 24 hours',
    schedule: '*/10 * * * *',
    run: app =>
      app.store.write(db =>
        deleteIdempotencyBefore(db, ago(app, limits.idempotencyHours * 3_600_000), limits.sweepRows),
      ),
  },
  {
    name: 'events older than 30 days',
    schedule: '17 * * * *',
    run: app =>
      app.store.write(db =>
        deleteEventsBefore(db, ago(app, limits.eventDays * 86_400_000), limits.sweepRows),
      ),
  },
  {
    name: 'messages of deleted inboxes',
    schedule: '*/5 * * * *',
    run: purgeDeletedInboxes,
  },
]

/** Runs a sweep until it finds nothing more. */
export async function sweep(app: App, one: Sweep): Promise<void> {
  try {
    for (let done = await one.run(app); done > 0; done = await one.run(app)) {
      app.log.info({ sweep: one.name, rows: done }, 'swept')
    }
  } catch (error) {
    app.log.error({ err: error, sweep: one.name }, 'sweep failed')
  }
}

/** Starts the sweeps; `stop` waits for those under way. */
export function startUpkeep(app: App): { stop(): Promise<void> } {
  const underWay = new Set<Promise<void>>()
  const tasks = sweeps.map(one =>
    cron.schedule(
      one.schedule,
      () => {
        const work = sweep(app, one).finally(() => underWay.delete(work))
        underWay.add(work)
        return work
      },
      { name: one.name, noOverlap: true, unref: true },
    ),
  )
  return {
    async stop() {
      await Promise.all(tasks.map(task => task.destroy()))
      await Promise.all(underWay)
    },
  }
}
