import { limits } from '../../base/limits.ts'
import { Slots } from '../../base/slots.ts'

interface Waiting {
  readonly podId: string
  readonly most: number
  enter(): void
}

/**
 * How many connections each address has, whatever names lead there. An attempt that finds all taken waits a moment, behind those that
 * came before it; pods share an address as they share everything else.
 */
export class AddressSlots {
  readonly #slots = new Slots(limits.destinationsKnown)
  readonly #waiting = new Map<string, Set<Waiting>>()
  readonly #waitMs: number

  /** @param waitMs how long an attempt waits at most */
  constructor(waitMs: number) {
    this.#waitMs = waitMs
  }

  /** Resolves with whether the attempt has a slot of the address, which has so many; then it must leave it. */
  async enter(address: string, most: number, podId: string, signal: AbortSignal): Promise<boolean> {
    this.#slots.meet(address, podId)
    if (this.#slots.has(address, most, podId)) {
      this.#slots.take(address, podId)
      return true
    }
    if (signal.aborted) return false
    const line = this.#waiting.get(address) ?? new Set()
    this.#waiting.set(address, line)
    return new Promise(resolve => {
      const end = (hasEntered: boolean) => {
        clearTimeout(timer)
        signal.removeEventListener('abort', giveUp)
        line.delete(waiting)
        if (line.size === 0) this.#waiting.delete(address)
        resolve(hasEntered)
      }
      const giveUp = () => end(false)
      const waiting = { podId, most, enter: () => end(true) }
      const timer = setTimeout(giveUp, this.#waitMs)
      signal.addEventListener('abort', giveUp, { once: true })
      line.add(waiting)
    })
  }

  leave(address: string, podId: string): void {
    this.#slots.leave(address, podId)
    for (const waiting of this.#waiting.get(address) ?? []) {
      if (!this.#slots.has(address, waiting.most, waiting.podId)) continue
      this.#slots.take(address, waiting.podId)
      waiting.enter()
      return
    }
  }
}
