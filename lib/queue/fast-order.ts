import { Recent } from '../base/concurrency.ts'
import type { QueueEntryRow } from '../store/tables.ts'

/** Of how many inboxes and pods memory knows whose turn it is. */
const partiesKnown = 10_000

type Whose = Pick<QueueEntryRow, 'podId' | 'inboxId' | 'isKnown'>

/**
 * Numbers first attempts so that the inboxes of a pod take turns (start-time fair queueing): the next message of an inbox has the number
 * after its last one, and the first message of an inbox that has nothing waiting is next in its pod. In memory: what is forgotten costs
 * an inbox its turn once.
 */
export class FastOrder {
  readonly #last = new Recent<number>(partiesKnown)
  readonly #begun = new Recent<number>(partiesKnown)

  /** Returns the number of a message that is put now. */
  next({ podId, inboxId, isKnown }: Whose): number {
    const inbox = `${podId} ${inboxId} ${isKnown}`
    const begun = this.#begun.get(`${podId} ${isKnown}`) ?? 0
    const turn = Math.max(begun, this.#last.get(inbox) ?? 0) + 1
    this.#last.set(inbox, turn)
    return turn
  }

  /** Notes that an entry of the fast lane has begun. */
  began({ podId, isKnown, turn }: Whose & Pick<QueueEntryRow, 'turn'>): void {
    const pod = `${podId} ${isKnown}`
    this.#begun.set(pod, Math.max(turn, this.#begun.get(pod) ?? 0))
  }
}
