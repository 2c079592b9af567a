import type { Kind, Turns } from './leased.ts'
import type { Queue } from './queue.ts'

export interface TurnsInOrder {
  readonly queue: Queue
  readonly kind: Kind
  /** How many entries are worked on at once: in all, and for one destination (which may change from one to the next). */
  readonly concurrency: number
  readonly concurrencyPerDestination: (destination: string) => number
}

/** What is due longest begins first, as far as its destination has room. */
export function createTurnsInOrder(parts: TurnsInOrder): Turns {
  const { queue, kind, concurrency, concurrencyPerDestination } = parts
  const underWay = new Set<string>()
  const perDestination = new Map<string, number>()
  const room = (destination: string) =>
    concurrencyPerDestination(destination) - (perDestination.get(destination) ?? 0)
  return {
    async claim() {
      const limit = concurrency - underWay.size
      const claimed = limit > 0 ? await queue.claim(kind, { limit, room, underWay }) : []
      for (const { id, destination } of claimed) {
        underWay.add(id)
        perDestination.set(destination, (perDestination.get(destination) ?? 0) + 1)
      }
      return claimed
    },
    async end({ id, destination }) {
      underWay.delete(id)
      const left = perDestination.get(destination)! - 1
      if (left > 0) perDestination.set(destination, left)
      else perDestination.delete(destination)
    },
  }
}
