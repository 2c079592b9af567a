/**
 * A part of the account, from the whole (both null) over a pod (inboxId null) to one inbox of that pod: what a key reaches,
 * where rules are set, whose messages are looked through, whom an event is about.
 */
export interface Scope {
  readonly podId: string | null
  readonly inboxId: string | null
}
