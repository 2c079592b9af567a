/** Gives back what was taken. Only the first call counts. */
export type Leave = () => void

export interface FairSlotsOptions {
  /** How many slots or bytes there are. A request for more than that is granted when all are free. */
  readonly size: number
  /** Returns how many one party may have while `free` are free; all unless given. The first request of a party may exceed it. */
  readonly share?: (free: number) => number
  /** How many may wait, and of one party half as many. */
  readonly waiting?: number
  /** How long one may wait. */
  readonly waitMs?: number
}

interface Waiting {
  readonly party: string
  readonly amount: number
  readonly settle: (leave?: Leave) => void
}

/**
 * Shares slots or bytes among parties. Requests that find none free wait: parties take turns, and the requests of a party keep their order.
 * A party that has its share lets the others pass. No other request passes the next one, so small requests do not hold up a large one.
 */
export class FairSlots {
  readonly #options: FairSlotsOptions
  #taken = 0
  readonly #takenBy = new Map<string, number>()
  /** By party, in the order of turns. */
  readonly #waiting = new Map<string, Set<Waiting>>()
  #count = 0
  #isStopped = false

  constructor(options: FairSlotsOptions) {
    this.#options = options
  }

  /** Whether `stop` was called. Slots that were granted just before it must not be used any more. */
  get isStopped(): boolean {
    return this.#isStopped
  }

  hasRoomFor(party: string, amount = 1): boolean {
    return this.#isInShare(party, amount) && this.#isFree(amount)
  }

  /**
   * Takes `amount` as soon as there is room and it is the turn of the party.
   * @returns undefined if the wait is too long, if too many wait already, when `signal` aborts, and after `stop`
   */
  enter(
    party: string,
    { amount = 1, signal }: { readonly amount?: number; readonly signal?: AbortSignal } = {},
  ): Promise<Leave | undefined> {
    const { waiting: most = Number.POSITIVE_INFINITY, waitMs } = this.#options
    const own = this.#waiting.get(party) ?? new Set()
    if (this.#isStopped || signal?.aborted || this.#count >= most || own.size >= most / 2)
      return Promise.resolve(undefined)
    const { promise, resolve } = Promise.withResolvers<Leave | undefined>()
    let timer: NodeJS.Timeout | undefined
    const giveUp = () => {
      one.settle()
      // Others of its party may have waited behind it.
      this.#admit()
    }
    const one: Waiting = {
      party,
      amount,
      settle: leave => {
        own.delete(one)
        this.#count--
        if (own.size === 0) this.#waiting.delete(party)
        clearTimeout(timer)
        signal?.removeEventListener('abort', giveUp)
        resolve(leave)
      },
    }
    this.#waiting.set(party, own.add(one))
    this.#count++
    this.#admit()
    if (own.has(one)) {
      if (waitMs !== undefined) timer = setTimeout(giveUp, waitMs)
      signal?.addEventListener('abort', giveUp)
    }
    return promise
  }

  /** Refuses all who wait, and all who come. */
  stop(): void {
    this.#isStopped = true
    for (const own of this.#waiting.values()) for (const one of own) one.settle()
  }

  #isInShare(party: string, amount: number): boolean {
    const own = this.#takenBy.get(party) ?? 0
    const { size, share } = this.#options
    return share === undefined || own === 0 || own + amount <= share(size - this.#taken)
  }

  #isFree(amount: number): boolean {
    return this.#taken === 0 || this.#taken + amount <= this.#options.size
  }

  #admit(): void {
    for (let next = this.#next(); next && this.#isFree(next.amount); next = this.#next()) {
      const own = this.#waiting.get(next.party)!
      next.settle(this.#take(next))
      if (own.size === 0) continue
      // Its next turn comes after those of the others.
      this.#waiting.delete(next.party)
      this.#waiting.set(next.party, own)
    }
  }

  /** The one whose turn it is. */
  #next(): Waiting | undefined {
    for (const [first] of this.#waiting.values())
      if (this.#isInShare(first!.party, first!.amount)) return first
    return undefined
  }

  #take({ party, amount }: Waiting): Leave {
    this.#change(party, amount)
    let isTaken = true
    return () => {
      if (!isTaken) return
      isTaken = false
      this.#change(party, -amount)
      this.#admit()
    }
  }

  #change(party: string, by: number): void {
    this.#taken += by
    const own = (this.#takenBy.get(party) ?? 0) + by
    if (own > 0) this.#takenBy.set(party, own)
    else this.#takenBy.delete(party)
  }
}
