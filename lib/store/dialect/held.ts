/**
 * What a write holds from its beginning to its commit where others write at the same time (PostgreSQL; on SQLite a write is alone): nobody
 * else who holds it is between the two. Who holds the same in another order waits for nobody, for all of a write is named at once.
 */
export interface Held {
  /** Ids of inboxes: their rows, so that whatever changes one waits as well. What is in an inbox is changed by who holds it alone. */
  readonly inboxes?: readonly string[]
  /** Ids of messages that were there before, in the same way. */
  readonly messages?: readonly string[]
  /** What has no row yet, by names that all who decide about it give it. */
  readonly names?: readonly string[]
  /**
   * Each statement of it is right whichever statements of others of this kind, or of who holds its inboxes in order, come before it: it only adds to what they
   * have, and what it decides by it has of the statement that adds. Its statements and theirs travel together.
   */
  readonly isOrderless?: boolean
  /** Whether who asked does it in parts where some of it can not be held now: what is free need not wait for what is not. */
  readonly isDivisible?: boolean
}
