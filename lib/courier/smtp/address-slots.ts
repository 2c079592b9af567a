import { destinationsKnown, Recent } from '../../base/concurrency.ts'
import { FairSlots, type Leave } from '../../base/fair-slots.ts'

/** An address that somebody is at, or waits for. */
interface Visited {
  readonly slots: FairSlots
  /** How many connections it has, by the name that says the least. */
  most: number
  visitors: number
}

/**
 * How many connections each address has, whatever names lead there. An attempt that finds all taken waits a moment for its turn. Where several
 * pods use an address, a pod takes another connection only while it leaves as many free as it has.
 */
export class AddressSlots {
  /** The pod that came to each address; true once there were several. */
  readonly #pods = new Recent<string | true>(destinationsKnown)
  readonly #visited = new Map<string, Visited>()
  readonly #waitMs: number

  /** @param waitMs how long an attempt waits at most */
  constructor(waitMs: number) {
    this.#waitMs = waitMs
  }

  /** Resolves with how to leave the address, which has `most` connections; undefined when the attempt had to wait for too long. */
  async enter(address: string, most: number, podId: string, signal: AbortSignal): Promise<Leave | undefined> {
    const pod = this.#pods.get(address) ?? podId
    this.#pods.set(address, pod === podId ? podId : true)
    const visited = this.#visited.get(address) ?? this.#visit(address, most)
    visited.most = Math.min(visited.most, most)
    visited.visitors++
    const leave = await visited.slots.enter(podId, { signal })
    const end = () => {
      leave?.()
      if (--visited.visitors === 0) this.#visited.delete(address)
    }
    if (leave) return end
    end()
    return undefined
  }

  #visit(address: string, most: number): Visited {
    const visited: Visited = {
      most,
      visitors: 0,
      slots: new FairSlots({
        get size() {
          return visited.most
        },
        share: free => (this.#pods.get(address) === true ? free : Number.POSITIVE_INFINITY),
        waitMs: this.#waitMs,
      }),
    }
    this.#visited.set(address, visited)
    return visited
  }
}
