import type { Message } from '../../model/message.ts'
import type { MessageRow } from '../../store/tables.ts'
import type { Caller } from './caller.ts'

/** What waiters are answered with: shared by all of them that get the same messages, so that it is made into text once. */
export interface WaitAnswer {
  readonly data: readonly Message[]
}

/** Who waits for mail, in which inbox, and for which. */
export interface WaitAsked {
  readonly caller: Caller
  readonly inboxId: string
  readonly takes: (message: MessageRow) => boolean
  /** Aborted when nobody waits any more, with the Problem to be answered. */
  readonly signal: AbortSignal
}

/** Someone who waits. */
export interface Waiter {
  /** Resolves when what is in the inbox is known, so that all that comes from now on is new. */
  readonly ready: Promise<void>
  /**
   * The messages that came, newest first; none when `ms` are over. Of more than `pageSizeMax` the oldest.
   * @throws Problem `unauthorized` when the key was revoked; what the signal was aborted with
   */
  arrived(ms: number): Promise<WaitAnswer>
  end(): void
}

/**
 * All who wait for mail in this process. An inbox is looked at once after each commit of mail, for all who wait for mail in
 * it; what other processes received is looked for now and then.
 */
export interface Waiters {
  /** @throws Problem `too_many_streams` when the key has as many already; `unavailable` when everybody together has */
  wait(asked: WaitAsked): Waiter
  /** How many wait. */
  count(): number
}
