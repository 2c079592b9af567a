import { limits } from '../base/limits.ts'
import type { Db } from '../store/dialect/dialect.ts'
import { findEntryInTurn, findInboxInTurn, findPodInTurn, type Turned } from '../store/queue-turns.ts'
import type { QueueEntryRow } from '../store/tables.ts'
import { NamesKnown } from './standing.ts'

/**
 * Whose turn it is among first attempts: one pod after the other, and in each one inbox after the other, so that who sends much
 * waits for itself alone. Where it stands is in memory and may be lost: the round begins anew.
 */
export class Rotation {
  #pod = ''
  readonly #inboxes = new NamesKnown<string>(limits.podsInRotation)

  /** The next in turn. It must be taken or set aside before the one after it is asked for. */
  async next(db: Db, of: Turned): Promise<QueueEntryRow | undefined> {
    const podId = (await findPodInTurn(db, of, this.#pod)) ?? (await findPodInTurn(db, of, ''))
    if (podId === undefined) return undefined
    const last = this.#inboxes.get(podId) ?? ''
    const inboxId = (await findInboxInTurn(db, of, podId, last)) ?? (await findInboxInTurn(db, of, podId, ''))
    if (inboxId === undefined) return undefined
    this.#pod = podId
    this.#inboxes.note(podId, inboxId)
    return findEntryInTurn(db, of, podId, inboxId)
  }
}
