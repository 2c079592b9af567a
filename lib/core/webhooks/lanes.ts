import { FairSlots, type Leave } from '../../base/fair-slots.ts'

/** How many calls of a webhook fail in a row before it gets one call at a time; of how many webhooks this is remembered. */
export const webhookFailures = 3
export const webhooksFailing = 10_000

/** A wish to begin. Within a lane the wishes begin by their `order`; a wish without a lane waits for a place alone. */
export interface Turn {
  readonly lane?: string | undefined
  readonly order: string
}

/** Says when what was claimed may begin. */
export interface Lanes {
  /** Resolves when it may begin, with a function that is to be called when it has ended. */
  enter(turn: Turn): Promise<() => void>
}

interface Waiting {
  readonly order: string
  readonly begin: (leave: Leave) => void
}

/** One that has begun, or is about to, and holds the others of its lane back. */
interface Lane {
  readonly waiting: Waiting[]
  isHeld: boolean
}

/**
 * In each lane one begins when the one before has ended, or `waitMs` after it began: order without letting a slow one
 * hold up the others. At most `places` are under way at once; what waits in a lane takes no place.
 */
export function createLanes({ places, waitMs }: { places: number; waitMs: number }): Lanes {
  const lanes = new Map<string, Lane>()
  const slots = new FairSlots({ size: places })
  const take = async () => (await slots.enter(''))!

  function advance(name: string, lane: Lane): void {
    const next = lane.waiting.shift()
    lane.isHeld = next !== undefined
    if (next) void take().then(next.begin)
    else lanes.delete(name)
  }

  function enterLane(name: string, order: string): Promise<() => void> {
    const lane = lanes.get(name) ?? { waiting: [], isHeld: false }
    return new Promise(resolve => {
      const begin = (leave: Leave) => {
        let isHolding = true
        const letNext = () => {
          if (isHolding) advance(name, lane)
          isHolding = false
        }
        const timer = setTimeout(letNext, waitMs)
        resolve(() => {
          clearTimeout(timer)
          leave()
          letNext()
        })
      }
      const later = lane.waiting.findIndex(one => one.order > order)
      lane.waiting.splice(later < 0 ? lane.waiting.length : later, 0, { order, begin })
      if (lane.isHeld) return
      // Entries that were claimed together all come in this turn of the event loop (`createReadsInOrder`), and a later one may have to go first.
      lane.isHeld = true
      lanes.set(name, lane)
      setImmediate(() => advance(name, lane))
    })
  }

  return {
    enter: ({ lane, order }) => (lane === undefined ? take() : enterLane(lane, order)),
  }
}

/** What was asked for in one turn of the event loop. */
interface Batch {
  isOpen: boolean
  readonly reads: Promise<unknown>[]
}

/**
 * Gives a function that reads for who was claimed: reads over several connections overtake each other, and those for one destination must come
 * to the lanes as they were claimed. What is asked for in one turn of the event loop is there for all of it at once, and after what was asked
 * for before.
 */
export function createReadsInOrder(): <T>(destination: string, read: () => Promise<T>) => Promise<T> {
  const batches = new Map<string, Batch>()
  const allOf = ({ reads }: Batch) => Promise.all(reads)
  return async (destination, read) => {
    const before = batches.get(destination)
    const mine = before?.isOpen ? before : { isOpen: true, reads: before ? [allOf(before)] : [] }
    if (mine !== before) {
      batches.set(destination, mine)
      queueMicrotask(() => {
        mine.isOpen = false
      })
    }
    const reading = read()
    mine.reads.push(reading.catch(() => {}))
    try {
      const value = await reading
      await allOf(mine)
      return value
    } finally {
      if (batches.get(destination) === mine) batches.delete(destination)
    }
  }
}

/** Which webhooks have failed again and again, as far as this process has seen. */
export interface WebhookStanding {
  /** Gives how many calls have failed in a row: of a delivered one, before it. */
  note(url: string, isDelivered: boolean): number
  /** Whether the last `webhookFailures` calls all failed. */
  isFailing(url: string): boolean
}

/** Remembers at most `webhooksFailing` of them, those that failed last; one that answers well is forgotten. */
export function createWebhookStanding(): WebhookStanding {
  const failures = new Map<string, number>()
  return {
    note(url, isDelivered) {
      const before = failures.get(url) ?? 0
      failures.delete(url)
      if (isDelivered) return before
      failures.set(url, before + 1)
      if (failures.size > webhooksFailing) failures.delete(failures.keys().next().value!)
      return before + 1
    },
    isFailing: url => (failures.get(url) ?? 0) >= webhookFailures,
  }
}
