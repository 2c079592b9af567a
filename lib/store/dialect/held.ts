/**
 * What a write locks from its beginning to its commit, if others write at the same time (PostgreSQL; on SQLite a write is alone). Two
 * writes that hold the same thing come one after the other, and each sees what the one before committed. All of it is locked at once
 * and in one order, so two writes do not wait for each other.
 */
export interface Held {
  /** Ids of inboxes. Their rows are locked: a rule that counts what is in an inbox holds the inbox. */
  readonly inboxes?: readonly string[]
  /** Ids of messages that exist already. Their rows are locked. */
  readonly messages?: readonly string[]
  /** Names of what has no row yet, or has several. All writes that decide about it use the same name. */
  readonly names?: readonly string[]
  /**
   * Whether each of its statements is right whichever statements of others of this kind come between: it only adds to what they have, and
   * decides by what the statement returns that adds. Such writes may share a transaction although they hold the same.
   */
  readonly isOrderless?: boolean
  /** Whether the caller splits the write if a part of it stays locked: what is free need not wait for the rest. */
  readonly isDivisible?: boolean
}

/** For a write that is decided by constraints and by conditions of single statements. */
export const holdsNothing = (): Held => ({})
