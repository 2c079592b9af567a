/**
 * Who fetches now, and who waits for it, in turns of pods: what is fetched from is a stranger's server, which may take its
 * time, and a tenant may know any number of them. A pod has at most three times as many as it leaves free, so that another one's begins
 * at once.
 */
export class FetchLine {
  readonly #most: number
  #all = 0
  readonly #ofPod = new Map<string, number>()
  /** Of each pod who waits, in the order in which they came; pods in the order of their turns. */
  readonly #waiting = new Map<string, Set<() => void>>()

  constructor(most: number) {
    this.#most = most
  }

  hasRoomFor(podId: string): boolean {
    return (this.#ofPod.get(podId) ?? 0) < 3 * (this.#most - this.#all)
  }

  /** Gives whether there is room, and then whoever asked has it and must leave. */
  tryEnter(podId: string): boolean {
    const isRoom = this.hasRoomFor(podId)
    if (isRoom) this.#count(podId, 1)
    return isRoom
  }

  /** Waits for the turn; who gets it must leave. @returns false when the signal comes first */
  enter(podId: string, signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return Promise.resolve(false)
    if (this.tryEnter(podId)) return Promise.resolve(true)
    return new Promise(resolve => {
      const mine = this.#waiting.get(podId) ?? new Set()
      this.#waiting.set(podId, mine)
      const begin = () => {
        signal.removeEventListener('abort', giveUp)
        resolve(true)
      }
      const giveUp = () => {
        this.#forget(podId, begin)
        resolve(false)
      }
      mine.add(begin)
      signal.addEventListener('abort', giveUp, { once: true })
    })
  }

  leave(podId: string): void {
    this.#count(podId, -1)
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      const [begin] = this.#waiting.get(next)!
      const others = this.#forget(next, begin!)
      // Behind the other pods.
      if (others !== undefined) {
        this.#waiting.delete(next)
        this.#waiting.set(next, others)
      }
      this.#count(next, 1)
      begin!()
    }
  }

  /** The pod whose turn it is, of those that may have one more. */
  #next(): string | undefined {
    for (const podId of this.#waiting.keys()) if (this.hasRoomFor(podId)) return podId
    return undefined
  }

  #forget(podId: string, begin: () => void): Set<() => void> | undefined {
    const mine = this.#waiting.get(podId)
    mine?.delete(begin)
    if (mine?.size === 0) this.#waiting.delete(podId)
    return this.#waiting.get(podId)
  }

  #count(podId: string, by: 1 | -1): void {
    this.#all += by
    const now = (this.#ofPod.get(podId) ?? 0) + by
    if (now > 0) this.#ofPod.set(podId, now)
    else this.#ofPod.delete(podId)
  }
}
