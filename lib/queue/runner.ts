import { limits } from '../base/limits.ts'
import type { Log } from '../base/log.ts'
import type { Kind, Leased, Queue } from './queue.ts'

export interface RunnerParts {
  readonly queue: Queue
  readonly kind: Kind
  /** How many entries are worked on at once: in all, and for one destination (which may change from one to the next). */
  readonly concurrency: number
  readonly concurrencyPerDestination: (destination: string) => number
  /** Does the work and ends the lease. What it throws is a bug; the entry is tried again by its schedule. */
  readonly perform: (entry: Leased) => Promise<void>
  readonly log: Log
}

export interface Runner {
  start(): void
  /** Takes no more work; resolves when what is under way has ended. */
  stop(): Promise<void>
}

/** Takes what is due and has it performed, within the bounds of concurrency. */
export function createRunner(parts: RunnerParts): Runner {
  const { queue, kind, concurrency, concurrencyPerDestination, perform, log } = parts
  const underWay = new Set<Promise<void>>()
  const perDestination = new Map<string, number>()
  let timer: NodeJS.Timeout | undefined
  let claiming: Promise<void> | undefined
  let again = false
  let stopped = true
  let unlisten = () => {}

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
        // Claims until nothing is due or every place is taken; an entry that ends wakes it again.
        while (!stopped && underWay.size < concurrency && (await claimSome()) > 0);
      }
    } catch (error) {
      log.error({ err: error, kind }, 'queue can not be read')
    }
    if (!stopped) timer = setTimeout(wake, limits.queuePollMs)
  }

  async function claimSome(): Promise<number> {
    const room = (destination: string) =>
      concurrencyPerDestination(destination) - (perDestination.get(destination) ?? 0)
    const claimed = await queue.claim(kind, { limit: concurrency - underWay.size, room })
    for (const entry of claimed) begin(entry)
    return claimed.length
  }

  function begin(entry: Leased): void {
    const { destination } = entry
    perDestination.set(destination, (perDestination.get(destination) ?? 0) + 1)
    const work = performGuarded(entry).finally(() => {
      underWay.delete(work)
      const left = perDestination.get(destination)! - 1
      if (left > 0) perDestination.set(destination, left)
      else perDestination.delete(destination)
      wake()
    })
    underWay.add(work)
  }

  /** The door of this flow. An error that comes here is a bug: it is logged once, and the entry is tried again later. */
  async function performGuarded(entry: Leased): Promise<void> {
    const names = { kind, subjectId: entry.subjectId }
    try {
      await perform(entry)
    } catch (error) {
      log.error({ err: error, ...names }, 'queue entry met a fault')
      await queue
        .retry(entry)
        .catch(fault => log.error({ err: fault, ...names }, 'queue entry keeps its lease'))
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
      await Promise.all(underWay)
    },
  }
}
