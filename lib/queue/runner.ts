import { setTimeout as rest } from 'node:timers/promises'
import { DatabaseDamaged } from '../base/faults.ts'
import type { Log } from '../base/log.ts'
import { type Kind, type Leased, LeaseLost } from './lease.ts'
import type { Queue } from './queue.ts'
import type { Scheduler } from './scheduler.ts'

/** How long a runner of the queue rests after a look, so that what comes and ends meanwhile is looked at together. */
const queueRestMs = 5
/** How often the queue looks for work that another process put. */
const queuePollMs = 1_000

export interface RunnerParts {
  readonly queue: Queue
  readonly kind: Kind
  readonly scheduler: Pick<Scheduler, 'claim' | 'end'>
  /** Does the work and ends the lease. What it throws is a bug; the entry is tried again by its schedule. */
  readonly perform: (entry: Leased) => Promise<void>
  readonly log: Log
}

export interface Runner {
  start(): void
  /** Takes no more work; resolves when what is under way has ended. */
  stop(): Promise<void>
}

/** Takes what may begin and has it performed. */
export function createRunner(parts: RunnerParts): Runner {
  const { queue, kind, scheduler, perform, log } = parts
  const underWay = new Map<string, Promise<void>>()
  /** Of these, those whose lease was taken for lost. */
  const lost = new Set<string>()
  /** Whether something may be leased to this process that it is not working on. */
  let mayForget = false
  let timer: NodeJS.Timeout | undefined
  let claiming: Promise<void> | undefined
  let again = false
  let stopped = true
  let unlisten = () => {}

  /** Logs it, but for a damaged database: who found that has logged it, once. */
  function tell(about: { readonly err: unknown; readonly kind: Kind }, what: string): void {
    if (!(about.err instanceof DatabaseDamaged)) log.error(about, what)
  }

  function wake(): void {
    if (stopped) return
    again = true
    claiming ??= claimAll().finally(() => {
      claiming = undefined
      if (again) wake()
    })
  }

  async function claimAll(): Promise<void> {
    clearTimeout(timer)
    try {
      while (again && !stopped) {
        again = false
        if (mayForget && queue.mayClaim()) {
          mayForget = false
          const freed = await queue.freeForgotten(kind, new Set(underWay.keys()))
          if (freed > 0) log.info({ kind, freed }, 'queue entries that an outage left leased are due again')
        }
        // Claims until nothing is due or every place is taken; an entry that ends wakes it again.
        while (!stopped && queue.mayClaim() && (await claimSome()) > 0);
        // What comes and ends meanwhile is looked at together: a look costs as much for one entry as for many.
        await rest(queueRestMs)
      }
    } catch (error) {
      // It may have leased some all the same.
      mayForget = true
      tell({ err: error, kind }, 'queue can not be read')
    }
    if (!stopped) timer = setTimeout(wake, queuePollMs)
  }

  async function claimSome(): Promise<number> {
    const claimed = await scheduler.claim()
    for (const entry of claimed) begin(entry)
    return claimed.length
  }

  function begin(entry: Leased): void {
    const work = performGuarded(entry)
      .then(() => scheduler.end(entry))
      .catch(error => tell({ err: error, kind }, 'queue entry was not ended'))
      .finally(() => {
        underWay.delete(entry.id)
        if (lost.delete(entry.id)) mayForget = true
        wake()
      })
    underWay.set(entry.id, work)
  }

  /** The door of this flow. An error that comes here is a bug: it is logged once, and the entry is tried again later. */
  async function performGuarded(entry: Leased): Promise<void> {
    const names = { kind, subjectId: entry.subjectId }
    try {
      await perform(entry)
    } catch (error) {
      // For a moment this process was not sure of it: another has it by now, or it still stands in our name.
      if (error instanceof LeaseLost) {
        lost.add(entry.id)
        return
      }
      tell({ err: error, ...names }, 'queue entry met a fault')
      await queue.retry(entry).catch(fault => {
        mayForget = true
        tell({ err: fault, ...names }, 'queue entry keeps its lease')
      })
    }
  }

  return {
    start() {
      stopped = false
      unlisten = queue.onPut(kind, wake)
      wake()
    },
    async stop() {
      stopped = true
      unlisten()
      clearTimeout(timer)
      await claiming
      await Promise.all(underWay.values())
    },
  }
}
